"""The command line: one module per command group. Data goes to standard output, messages to standard error."""
