"""Pure rules that need no database."""
