"""Trial balances, the bank reconciliation, the journal and its files."""
