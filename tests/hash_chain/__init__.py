"""Tests of the hash chain."""
