"""Payment links: what a merchant offers to be paid, and the currencies, methods and projects it can use for that."""
