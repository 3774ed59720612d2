"""A state machine: random histories of applications, grants, tokens and the clock, against a model in plain Python."""
