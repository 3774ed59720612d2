"""Tests of the pages about balances and the ledger."""
