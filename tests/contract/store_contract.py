"""What every store promises. Each implementation inherits this suite."""

import threading
from pathlib import Path

import pytest
from odf_coordinator.errors import NotFound, RefConflict
from odf_coordinator.ports import Store


class StoreContract:
    """Inherit, and give a fixture `store`."""

    def test_what_was_put_is_got(self, store: Store) -> None:
        store.put("blocks/a", b"one")
        assert store.get("blocks/a") == b"one"
        assert store.size("blocks/a") == 3

    def test_a_missing_key_is_not_found(self, store: Store) -> None:
        with pytest.raises(NotFound):
            store.get("blocks/none")
        with pytest.raises(NotFound):
            store.open("blocks/none")
        assert store.size("blocks/none") is None

    def test_an_empty_value_is_a_value(self, store: Store) -> None:
        store.put("data/empty", b"")
        assert store.get("data/empty") == b""
        assert store.size("data/empty") == 0
        assert store.open("data/empty").read() == b""

    def test_a_file_is_taken_whole(self, store: Store, tmp_path: Path) -> None:
        source = tmp_path / "part"
        source.write_bytes(b"x" * 100_000)
        store.put("data/part", source)
        with store.open("data/part") as file:
            assert file.read() == b"x" * 100_000

    def test_putting_again_changes_nothing(self, store: Store) -> None:
        store.put("data/a", b"one")
        store.put("data/a", b"one")
        assert store.list("data/") == ["data/a"]

    def test_it_is_known_when_a_key_was_written(self, store: Store) -> None:
        assert store.modified("data/a") is None
        store.put("data/a", b"one")
        first = store.modified("data/a")
        store.put("data/a", b"one")
        again = store.modified("data/a")
        assert first is not None
        assert again is not None
        assert first <= again
        store.delete("data/a")
        assert store.modified("data/a") is None

    def test_keys_move_to_another_prefix(self, store: Store) -> None:
        for key in ("a/x/1", "a/x/b/2", "a/xy/3"):
            store.put(key, key.encode())
        store.move("a/x", "a/z")
        store.move("a/x", "a/z")
        assert store.list("a/") == ["a/xy/3", "a/z/1", "a/z/b/2"]
        assert store.get("a/z/b/2") == b"a/x/b/2"
        assert store.modified("a/z/1") is not None
        store.put("a/x/1", b"again")
        assert store.list("a/x/") == ["a/x/1"]

    def test_a_move_that_was_cut_is_finished(self, store: Store) -> None:
        store.put("a/z/1", b"1")
        store.put("a/x/b/2", b"2")
        store.move("a/x", "a/z")
        assert store.list("a/") == ["a/z/1", "a/z/b/2"]

    def test_listing_is_sorted_and_by_folder(self, store: Store) -> None:
        for key in ("b/2", "b/1", "a/x", "b/c/3"):
            store.put(key, b"")
        assert store.list("b/") == ["b/1", "b/2", "b/c/3"]
        assert store.list("nothing/") == []

    def test_deleting_is_final_and_repeatable(self, store: Store) -> None:
        store.put("a", b"")
        store.delete("a")
        store.delete("a")
        assert store.size("a") is None

    def test_a_store_below_a_prefix_sees_its_own_keys(self, store: Store) -> None:
        below = store.at("datasets/x")
        below.put("refs/head", b"h")
        assert store.get("datasets/x/refs/head") == b"h"
        assert below.list("") == ["refs/head"]
        below.at("refs").delete("head")
        assert store.size("datasets/x/refs/head") is None

    def test_a_swap_wants_what_it_expects(self, store: Store) -> None:
        store.swap("refs/head", expected=None, new=b"1")
        with pytest.raises(RefConflict):
            store.swap("refs/head", expected=None, new=b"2")
        with pytest.raises(RefConflict):
            store.swap("refs/head", expected=b"0", new=b"2")
        assert store.get("refs/head") == b"1"
        store.swap("refs/head", expected=b"1", new=b"2")
        assert store.get("refs/head") == b"2"

    def test_a_swap_of_a_missing_key_with_an_expectation_conflicts(self, store: Store) -> None:
        with pytest.raises(RefConflict):
            store.swap("refs/head", expected=b"1", new=b"2")
        assert store.size("refs/head") is None

    def test_one_writer_wins_each_swap(self, store: Store) -> None:
        store.swap("refs/head", expected=None, new=b"0")
        wins: list[bytes] = []

        def race() -> None:
            for _ in range(25):
                before = store.get("refs/head")
                after = str(int(before) + 1).encode()
                try:
                    store.swap("refs/head", expected=before, new=after)
                except RefConflict:
                    continue
                wins.append(after)

        racers = [threading.Thread(target=race) for _ in range(4)]
        for racer in racers:
            racer.start()
        for racer in racers:
            racer.join()
        assert len(wins) == len(set(wins)) == int(store.get("refs/head"))
