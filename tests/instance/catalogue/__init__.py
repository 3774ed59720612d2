"""Tests of the catalogue and of what an operator adds to it."""
