"""The bank of the house, for the rails' tests too."""

from tests.statements.conftest import bank, service

__all__ = ["bank", "service"]
