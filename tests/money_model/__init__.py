"""A state machine: random histories of money in, out and across, against books kept in plain Python."""
