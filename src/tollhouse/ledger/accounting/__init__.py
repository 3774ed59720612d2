"""The ledger as an accountant reads it: trial balances, the journal, and files for accounting programs."""
