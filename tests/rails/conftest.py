"""The bank of the house, for the rails' tests too."""

from tests.statements.conftest import bank

__all__ = ["bank"]
