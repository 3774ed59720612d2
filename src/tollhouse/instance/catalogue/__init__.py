"""The catalogue file of an operator, and the check of what was stored with another one."""
