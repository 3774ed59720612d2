"""The bank of the house, for the rails' tests too."""

from tests.bank.conftest import bank, no_bank_afterwards, service

__all__ = ["bank", "no_bank_afterwards", "service"]
