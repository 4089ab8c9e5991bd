"""A workspace: which datasets there are, their keys, and the plans that were saved.

Everything goes through one store rooted at `.odf`. A dataset is visible when `catalog/<name>` is
there; adding several at once is one swap of the `adding` journal, which is then rolled forward.
So is renaming and deleting, by the `changing` journal.
"""

import difflib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from odf_coordinator.codec import plan as plan_codec
from odf_coordinator.dataset import Dataset
from odf_coordinator.errors import (
    ConflictError,
    IntegrityError,
    InternalError,
    NotFound,
    RefConflict,
    StorageError,
    UserError,
)
from odf_coordinator.model.block import SealedBlock
from odf_coordinator.model.event import AddData, Event, ExecuteTransform, Seed
from odf_coordinator.model.identity import BlockHash, DatasetId, DatasetName, is_dataset_name
from odf_coordinator.model.plan import Batch
from odf_coordinator.model.timeline import Instant
from odf_coordinator.ports import Locks, Store
from odf_coordinator.rules import chain, signing
from odf_coordinator.rules.garbage import Stored
from odf_coordinator.rules.indexing import Pace
from odf_coordinator.rules.signing import PrivateKey

_JOURNAL = "adding"
_CHANGES = "changing"
_CATALOG = "catalog/"
_FOLDER = "datasets/"
_STAGED = "replacing/new/"
_REPLACED = "replacing/old/"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewDataset:
    """A dataset that is about to be added: its key, its first events, its manifest's folder."""

    name: DatasetName
    key: PrivateKey
    events: tuple[Event, ...]
    base: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What the workspace knows of a dataset beside its chain; `base`: seen from the workspace."""

    name: DatasetName
    dataset_id: DatasetId
    base: str


class Workspace:
    """The datasets of one `.odf` folder. `root` is the folder that holds it.

    `threads` is how many may hash rows at once, `pace` that of the block indices.
    """

    def __init__(
        self,
        root: Path,
        store: Store,
        locks: Locks,
        *,
        threads: int = 1,
        pace: Pace | None = None,
    ) -> None:
        self.root = root
        self._store = store
        self._locks = locks
        self._threads = threads
        self._pace = pace
        self._names: dict[DatasetId, DatasetName] = {}
        self._datasets: dict[DatasetName, Dataset] = {}
        self._roll_forward()

    @property
    def scratch(self) -> Path:
        """A folder on the same disk for files that are not finished."""
        return self.root / ".odf" / "tmp"

    def entries(self) -> list[Entry]:
        """All datasets, by name."""
        return [self.listed(name) for name in self.names()]

    def names(self) -> list[DatasetName]:
        """The names in the catalog; an entry itself may be damaged."""
        return [DatasetName(key.removeprefix(_CATALOG)) for key in self._store.list(_CATALOG)]

    def listed(self, name: DatasetName) -> Entry:
        """The entry of a name in the catalog. Raises NotFound, and IntegrityError if damaged."""
        return self._entry(_CATALOG + name)

    def entry(self, ref: str) -> Entry:
        """The dataset of that name or identity. Raises NotFound with a guess at what was meant."""
        found = self._entry_named(ref) or self._entry_identified(ref)
        if found is not None:
            return found
        close = difflib.get_close_matches(ref, [each.name for each in self.entries()], n=1)
        hint = f"did you mean '{close[0]}'?" if close else "`odf ls` shows what there is"
        raise NotFound(f"no dataset '{ref}' in this workspace", hint=hint)

    def entry_of(self, dataset_id: DatasetId) -> Entry:
        """The dataset of that identity. Raises NotFound."""
        found = self._entry_identified(dataset_id)
        if found is None:
            raise NotFound(f"no dataset {dataset_id} in this workspace")
        return found

    def dataset(self, ref: str) -> Dataset:
        """The dataset of that name or identity. Raises NotFound."""
        return self._dataset(self.entry(ref).name)

    def dataset_of(self, dataset_id: DatasetId) -> Dataset:
        """The dataset of that identity. Raises NotFound."""
        return self._dataset(self.entry_of(dataset_id).name)

    def base_folder(self, name: str) -> Path:
        """The folder that relative paths of the dataset's manifest start from."""
        return (self.root / self.entry(name).base).resolve()

    def set_base(self, name: DatasetName, base: Path) -> None:
        """Remember where relative paths of a dataset's manifest start from now on."""
        entry = self.entry(name)
        moved = replace(entry, base=self._relative(base))
        if moved != entry:
            self._store.put(f"catalog/{name}", json.dumps(asdict(moved)).encode())

    def _relative(self, base: Path) -> str:
        return Path(os.path.relpath(base, self.root)).as_posix()

    def key(self, dataset_id: DatasetId) -> PrivateKey:
        """The dataset's private key. Raises UserError when it is not here, IntegrityError when
        what is here is not it."""
        try:
            raw = self._store.get(_key(dataset_id))
        except NotFound:
            raise UserError(
                f"the private key of {dataset_id} is not in this workspace",
                hint="without its key a dataset can be read and verified, not extended",
            ) from None
        try:
            key = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(raw.decode()))
        except ValueError as error:
            raise _wrong_key(dataset_id, "is damaged") from error
        if signing.dataset_id(key) != dataset_id:
            raise _wrong_key(dataset_id, f"is the key of {signing.dataset_id(key)}")
        return key

    def entry_of_key(self, key: PrivateKey) -> Entry:
        """The dataset that a key belongs to. Raises NotFound."""
        try:
            return self.entry_of(signing.dataset_id(key))
        except NotFound as error:
            raise NotFound(
                f"the key is not that of a dataset here: {error}", hint="add its dataset first"
            ) from error

    def import_key(self, key: PrivateKey) -> None:
        """Keep the key of a dataset that is here. Raises NotFound."""
        entry = self.entry_of_key(key)
        private = key.private_bytes_raw().hex().encode()
        self._store.put(_key(entry.dataset_id), private, private=True)

    def lock(self, name: DatasetName) -> AbstractContextManager[None]:
        """Keeps two processes from running one dataset's steps at once."""
        return self._locks.hold(f"dataset-{name.lower()}")

    @contextmanager
    def lock_all(self, names: Iterable[DatasetName]) -> Iterator[None]:
        """The locks of several datasets, always in the same order: nobody waits in a circle."""
        with ExitStack() as held:
            for name in sorted({name.lower() for name in names}):
                held.enter_context(self.lock(DatasetName(name)))
            yield

    def locks_held(self) -> list[str]:
        """The locks of this workspace that running commands hold."""
        return self._locks.held()

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Nobody else changes the catalog meanwhile; what somebody left undone is done first.

        Who also needs the locks of datasets takes those first.
        """
        with self._locks.hold("workspace"):
            self._finish()
            yield

    # Adding

    def add(
        self, new: Sequence[NewDataset], *, now: Instant, replacing: Iterable[DatasetName] = ()
    ) -> None:
        """Add all or none, `replacing` those of the same name by datasets of a new identity.

        Raises ConflictError when another name is taken (without regard to case).
        """
        replaced = frozenset(replacing)
        with self.lock_all(replaced), self.changing():
            taken = {name.lower(): name for name in self.names() if name not in replaced}
            for each in new:
                if each.name.lower() in taken:
                    raise ConflictError(
                        f"dataset '{taken[each.name.lower()]}' already exists; nothing was added"
                    )
            for each in new:
                if each.name not in replaced:
                    self._check_nothing_is_lost(each.name)
            for key in [*self._store.list(_STAGED), *self._store.list(_REPLACED)]:
                self._store.delete(key)  # of an attempt that was cut off
            entries = [
                self._prepare(each, now=now, folder=_STAGED if each.name in replaced else _FOLDER)
                for each in new
            ]
            journal = json.dumps([asdict(entry) for entry in entries]).encode()
            self._store.swap(_JOURNAL, expected=None, new=journal)
            self._finish_adding()

    def _check_nothing_is_lost(self, name: DatasetName) -> None:
        """An add that was cut off leaves set-up blocks; a chain with data is not ours to replace.

        Raises ConflictError.
        """
        store = self._store.at(f"datasets/{name}")
        if store.size("refs/head") is None or not _has_data(Dataset(name, store), store):
            return
        folder = self.root / ".odf" / "datasets" / name
        raise ConflictError(
            f"{folder} holds {_whose(Dataset(name, store))} with data, which the catalog does not"
            " list; nothing was added",
            hint=f"put {self.root / '.odf' / 'catalog' / name} back from a copy; or give the new"
            " dataset another id; or move that folder away",
        )

    def _prepare(self, new: NewDataset, *, now: Instant, folder: str) -> Entry:
        """Key and chain in place, but not in the catalog: invisible until the journal is in."""
        seed, *rest = new.events
        if not isinstance(seed, Seed):
            raise InternalError("the first event of a dataset is its seed")
        private = new.key.private_bytes_raw().hex().encode()
        self._store.put(_key(seed.dataset_id), private, private=True)
        store = self._store.at(f"{folder}{new.name}")
        store.delete("refs/head")  # of an attempt that was cut off before its journal
        dataset = Dataset(new.name, store, pace=self._pace)
        sealed = dataset.commit(None, chain.seed_block(seed, now=now), key=new.key)
        state = chain.advance(None, sealed)
        dataset.commit_events(state, rest, now=now, key=new.key)
        return Entry(name=new.name, dataset_id=seed.dataset_id, base=self._relative(new.base))

    def _roll_forward(self) -> None:
        if any(self._store.size(each) is not None for each in (_JOURNAL, _CHANGES)):
            with self.changing():
                pass

    def _finish(self) -> None:
        if self._store.size(_JOURNAL) is not None:
            self._finish_adding()
        if self._store.size(_CHANGES) is not None:
            self._finish_changing()

    def _finish_adding(self) -> None:
        try:
            entries = [_checked(Entry(**raw)) for raw in json.loads(self._store.get(_JOURNAL))]
        except (ValueError, TypeError) as error:
            raise self._damaged(_JOURNAL, error) from error
        for entry in entries:
            self._put_in_place(entry.name)
            self._store.put(f"catalog/{entry.name}", json.dumps(asdict(entry)).encode())
        self._store.delete(_JOURNAL)

    def _put_in_place(self, name: DatasetName) -> None:
        """Of a dataset that replaces another: the old chain out of the way, the new one in."""
        if self._store.size(f"{_STAGED}{name}/refs/head") is None:
            return
        if self._store.size(f"{_FOLDER}{name}/refs/head") is not None:
            self._store.move(f"{_FOLDER}{name}", f"{_REPLACED}{name}")
        self._store.move(f"{_STAGED}{name}", f"{_FOLDER}{name}")

    # Renaming and deleting

    def rename(self, ref: str, new: DatasetName) -> None:
        """Give a dataset another name. Dependents do not notice: they know it by its identity.

        Raises ConflictError when another dataset has the name (without regard to case).
        """
        old = self.entry(ref).name
        with self.lock_all([old, new]), self.changing():
            entry = self.entry(old)
            self.check_free(new, keep=old)
            if new == old:
                return
            for key in self._store.list(f"datasets/{new}/"):
                self._store.delete(key)  # of a dataset that was deleted, or never added
            self._change([old], replace(entry, name=new))

    def check_free(self, name: DatasetName, *, keep: DatasetName) -> None:
        """Raises ConflictError when another dataset than `keep` has the name, in any case."""
        for taken in self.names():
            if taken.lower() == name.lower() and taken != keep:
                raise ConflictError(
                    f"dataset '{taken}' already exists; nothing was renamed",
                    hint="choose another name",
                )

    def remove(self, names: Sequence[DatasetName]) -> None:
        """Take datasets out of the catalog, all at once, then forget what they stored.

        The caller holds the catalog and the datasets' locks. What a cut leaves is garbage.
        """
        entries = [self.listed(name) for name in names]
        if len(names) == 1:
            self._store.delete(_CATALOG + names[0])
        else:
            self._change(names, None)
        for entry in entries:
            for key in self.stored_keys(entry):
                self._store.delete(key)

    def _change(self, dropped: Sequence[DatasetName], renamed: Entry | None) -> None:
        """One swap of the journal *is* the change; the rest follows from it."""
        journal = {"dropped": list(dropped), "renamed": asdict(renamed) if renamed else None}
        self._store.swap(_CHANGES, expected=None, new=json.dumps(journal).encode())
        self._finish_changing()

    def _finish_changing(self) -> None:
        try:
            journal = json.loads(self._store.get(_CHANGES))
            dropped = [str(name) for name in journal["dropped"]]
            renamed = Entry(**journal["renamed"]) if journal["renamed"] else None
        except (ValueError, TypeError, KeyError) as error:
            raise IntegrityError(f"the workspace's {_CHANGES} is damaged: {error}") from error
        if renamed:
            self._store.move(f"datasets/{dropped[0]}", f"datasets/{renamed.name}")
        for name in dropped:
            self._store.delete(_CATALOG + name)
        if renamed:
            self._store.put(_CATALOG + renamed.name, json.dumps(asdict(renamed)).encode())
        self._store.delete(_CHANGES)

    # What is stored, for upkeep

    def stored(self, prefix: str) -> list[Stored]:
        """All keys below a prefix of `.odf`, with size and time."""
        found = []
        for key in self._store.list(prefix):
            size, modified = self._store.size(key), self._store.modified(key)
            if size is not None and modified is not None:
                found.append(Stored(key=key, size=size, modified=modified))
        return found

    def stored_keys(self, entry: Entry) -> list[str]:
        """Everything that is stored for a dataset outside the catalog."""
        own = [*self._store.list(f"datasets/{entry.name}/"), _key(entry.dataset_id)]
        return [*own, *self._store.list(f"plans/{local_id(entry.dataset_id)}/")]

    def forget(self, key: str) -> None:
        """Delete one key of the workspace that nobody needs."""
        self._store.delete(key)

    # Plans (the replay law)

    def saved_plan(self, dataset_id: DatasetId, head: BlockHash) -> Batch | None:
        """The plan that was claimed for a head and not finished, if there is one."""
        try:
            return plan_codec.decode(self._store.get(plan_key(dataset_id, head)))
        except NotFound:
            return None

    def claim(self, batch: Batch) -> Batch:
        """Save a plan before it is run. The first writer wins: run what this returns."""
        try:
            self._store.swap(
                plan_key(batch.dataset_id, batch.expected_head),
                expected=None,
                new=plan_codec.encode(batch),
            )
        except RefConflict:
            return self.saved_plan(batch.dataset_id, batch.expected_head) or batch
        return batch

    def drop_plan(self, batch: Batch) -> None:
        """Forget a plan that was committed, or that the engine answered with an error."""
        self._store.delete(plan_key(batch.dataset_id, batch.expected_head))

    def _entry_named(self, name: str) -> Entry | None:
        """By its own key: no need to look at all the others."""
        try:
            found = self._entry(f"catalog/{name}")
        except (NotFound, StorageError):  # not there, or not even a key
            return None
        return found if found.name == name else None

    def _entry_identified(self, dataset_id: str) -> Entry | None:
        """By the name that it had when we last looked, if it still has it."""
        known = self._names.get(DatasetId(dataset_id))
        found = self._entry_named(known) if known is not None else None
        if found is None or found.dataset_id != dataset_id:
            self._names = {each.dataset_id: each.name for each in self.entries()}
            known = self._names.get(DatasetId(dataset_id))
            found = self._entry_named(known) if known is not None else None
        return found

    def _entry(self, key: str) -> Entry:
        try:
            entry = _checked(Entry(**json.loads(self._store.get(key))))
        except (ValueError, TypeError) as error:
            raise self._damaged(key, error) from error
        if key != f"catalog/{entry.name}":
            raise self._damaged(key, f"it is an entry of {entry.name}")
        return entry

    def _damaged(self, key: str, error: Exception | str) -> IntegrityError:
        return IntegrityError(
            f"{self.root / '.odf' / key} is damaged: {error}", hint="restore it from a copy"
        )

    def _dataset(self, name: DatasetName) -> Dataset:
        """One instance per name: it remembers the state that it folded last."""
        if name not in self._datasets:
            store = self._store.at(f"datasets/{name}")
            self._datasets[name] = Dataset(name, store, threads=self._threads, pace=self._pace)
        return self._datasets[name]


def _checked(entry: Entry) -> Entry:
    """The entry, if its fields can be what they say. Raises ValueError."""
    if not isinstance(entry.name, str) or not is_dataset_name(entry.name):
        raise ValueError(f"{entry.name!r} is not a name of a dataset")
    if not isinstance(entry.dataset_id, str) or not signing.is_dataset_id(entry.dataset_id):
        raise ValueError(f"{entry.dataset_id!r} is not an identity of a dataset")
    if not isinstance(entry.base, str):
        raise ValueError(f"{entry.base!r} is not a folder")  # noqa: TRY004 - read from a file
    return entry


def _has_data(dataset: Dataset, store: Store) -> bool:
    """Whether the chain holds data; of one that is damaged, whether anything of it does."""
    try:
        return any(_is_data(each) for each in dataset.blocks_back(dataset.head(), until=None))
    except IntegrityError:
        return bool(store.list("data/")) or any(map(_is_data, _readable(dataset, store)))


def _is_data(sealed: SealedBlock) -> bool:
    return isinstance(sealed.block.event, AddData | ExecuteTransform)


def _readable(dataset: Dataset, store: Store) -> Iterator[SealedBlock]:
    for key in store.list("blocks/"):
        with suppress(IntegrityError):
            yield dataset.block(BlockHash(key.rpartition("/")[2]))


def _whose(dataset: Dataset) -> str:
    """A chain as a message names it."""
    try:
        return f"the dataset {dataset.state().dataset_id}"
    except IntegrityError:
        return "a damaged chain"


def _wrong_key(dataset_id: DatasetId, what: str) -> IntegrityError:
    return IntegrityError(
        f"the private key of {dataset_id} in .odf/{_key(dataset_id)} {what}",
        hint="put the dataset's own key back from a copy; without it the dataset can be read and"
        " verified, not extended",
    )


def local_id(dataset_id: DatasetId) -> str:
    """An identity as file names have it."""
    return dataset_id.rpartition(":")[2]


def _key(dataset_id: DatasetId) -> str:
    return f"keys/{local_id(dataset_id)}"


def plan_key(dataset_id: DatasetId, head: BlockHash) -> str:
    """Where the plan of a head is kept."""
    return f"plans/{local_id(dataset_id)}/{head}"
