"""Withdrawals, through HTTP, by the sandbox and by a rail of the test bed."""
