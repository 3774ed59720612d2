"""Every way of money, tried with every credential that must not reach it."""
