"""The migrations, as numbered SQL files."""
