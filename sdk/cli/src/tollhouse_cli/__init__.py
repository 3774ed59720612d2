"""Tollhouse at the command line, and `tollhouse_cli.listening` as a library for tests of integrators."""
