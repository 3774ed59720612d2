"""How near taking money comes to what this machine, database and server could do: `python -m benchmarks.money`."""
