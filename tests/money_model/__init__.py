"""A state machine: random histories of payments, refunds and disputes, against books kept in plain Python."""
