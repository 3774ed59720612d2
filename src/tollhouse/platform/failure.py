"""The base of errors that end a command."""


class Failure(Exception):
    """A command cannot go on; the text says why and what to do."""

    exit_status = 1
