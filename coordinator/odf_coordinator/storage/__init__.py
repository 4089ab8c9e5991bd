"""Stores: each passes tests/contract/store_contract.py."""
