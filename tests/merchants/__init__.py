"""Tests of the merchants."""
