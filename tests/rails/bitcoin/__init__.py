"""Tests of the Bitcoin rail, without a database."""
