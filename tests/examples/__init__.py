"""The examples, each run as its README says, against the real service."""
