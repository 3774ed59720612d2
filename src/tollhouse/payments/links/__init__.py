"""Payment links, and the currencies, payment methods and projects they can use."""
