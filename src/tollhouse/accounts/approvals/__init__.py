"""The rules of operators' approvals, on pages and on the command line."""
