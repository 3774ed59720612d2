"""The bank of the instance, for the rails' tests too."""

from tests.rails.bank.conftest import bank, service

__all__ = ["bank", "service"]
