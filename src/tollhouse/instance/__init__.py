"""One installation: commands, processes, the included database, backups, checks, monitoring, documentation and the demo.

It imports everything. Start with `main.py`, which builds the service from its settings.
"""
