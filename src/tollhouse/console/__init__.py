"""What an operator of the house does: suspend merchants, review projects, correct balances. Everything is kept."""
