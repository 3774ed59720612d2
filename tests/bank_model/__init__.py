"""A bank, played at random: the ledger and the statements always agree with a model of a few counters."""
