"""What the API reference says, as Python. Made by `just records` from the API reference."""
