"""How long `tollhouse serve` takes to start, and how much memory it has, idle and under load."""
