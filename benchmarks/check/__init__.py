"""How long a check takes, and what it costs to write what it verifies."""
