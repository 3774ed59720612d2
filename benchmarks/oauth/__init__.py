"""How near the OAuth side comes to what this machine, database and server could do: `python -m benchmarks.oauth`."""
