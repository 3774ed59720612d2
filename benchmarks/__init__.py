"""Measurements, each against a floor of the same run, so that the numbers to keep are ratios."""
