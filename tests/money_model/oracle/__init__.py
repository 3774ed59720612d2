"""The oracle: what should become of all the money, in plain Python, with no ledger and no database."""
