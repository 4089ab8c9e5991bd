"""Actors that take turns: one runs at a time, and a seeded choice says who is next.

So two writers interleave at every call to the store, and the same seed gives the same story.
"""

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.crash.cutting import Cut

_SECONDS = 60
_STEPS = 100_000


class Stuck(AssertionError):
    """Nobody can go on, or somebody never ends."""


@dataclass(kw_only=True)
class Actor:
    """One thread of the story. `waits_for` is a lock that another one holds."""

    act: Callable[[], None]
    waits_for: str = ""
    ended: bool = False
    failure: BaseException | None = None
    turn: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))


class Turns:
    """Runs actors to their ends; `after_turn` is called after each turn."""

    def __init__(self, chance: random.Random, after_turn: Callable[[], None]) -> None:
        self._chance, self._after_turn = chance, after_turn
        self._back = threading.Semaphore(0)
        self._running: Actor | None = None
        self._held: set[str] = set()

    def play(self, *acts: Callable[[], None]) -> None:
        """All acts at once, to their ends. Raises what an act raised, except that it was cut."""
        actors = [Actor(act=act) for act in acts]
        threads = [
            threading.Thread(target=self._live, args=(each,), daemon=True) for each in actors
        ]
        for thread in threads:
            thread.start()
        for _ in range(_STEPS):
            if not (left := [each for each in actors if not each.ended]):
                break
            ready = [each for each in left if each.waits_for not in self._held]
            if not ready:
                raise Stuck(f"everybody waits: {[each.waits_for for each in left]}")
            self._give(self._chance.choice(ready))
            self._after_turn()
        else:
            raise Stuck("the story does not end")
        for thread in threads:
            thread.join(_SECONDS)
        for each in actors:
            if each.failure is not None:
                raise each.failure

    def step(self) -> None:
        """The running actor lets the others have a turn. Outside of a play: nothing."""
        if (actor := self._running) is not None:
            self._back.release()
            actor.turn.acquire()

    @contextmanager
    def hold(self, name: str) -> Iterator[None]:
        """See ports.Locks; whoever dies lets go."""
        actor = self._running
        self.step()
        while name in self._held:
            if actor is None:
                raise Stuck(f"{name} is held by nobody who runs")
            actor.waits_for = name
            self.step()
        if actor is not None:
            actor.waits_for = ""
        self._held.add(name)
        try:
            yield
        finally:
            self._held.discard(name)

    def _give(self, actor: Actor) -> None:
        self._running = actor
        actor.turn.release()
        if not self._back.acquire(timeout=_SECONDS):
            raise Stuck("an actor does not come back")
        self._running = None

    def _live(self, actor: Actor) -> None:
        actor.turn.acquire()
        try:
            actor.act()
        except Cut:
            pass
        except BaseException as error:  # told by the play
            actor.failure = error
        actor.ended = True
        self._back.release()
