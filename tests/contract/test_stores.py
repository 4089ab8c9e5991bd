"""The stores, each against the contract."""

from pathlib import Path

import pytest
from odf_coordinator.errors import StorageError
from odf_coordinator.storage.local import LocalStore
from odf_coordinator.storage.memory import MemoryStore

from tests.contract.store_contract import StoreContract


class TestMemoryStore(StoreContract):
    @pytest.fixture
    def store(self) -> MemoryStore:
        return MemoryStore()


class TestLocalStore(StoreContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> LocalStore:
        return LocalStore(tmp_path / "store")

    def test_private_content_is_its_owners(self, store: LocalStore, tmp_path: Path) -> None:
        store.put("keys/k", b"secret", private=True)
        store.put("blocks/b", b"open")
        assert (tmp_path / "store/keys/k").stat().st_mode & 0o777 == 0o600
        assert (tmp_path / "store/blocks/b").stat().st_mode & 0o777 == 0o644

    @pytest.mark.parametrize("key", ["../x", "a//b", "/a", "a/../../b", ".hidden", ""])
    def test_a_key_cannot_leave_the_folder(self, store: LocalStore, key: str) -> None:
        with pytest.raises(StorageError):
            store.put(key, b"")

    def test_nothing_half_written_is_listed(self, store: LocalStore, tmp_path: Path) -> None:
        store.put("data/a", b"1")
        (tmp_path / "store/data/.tmp-left").write_bytes(b"half")
        assert store.list("data/") == ["data/a"]
