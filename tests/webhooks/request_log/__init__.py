"""Tests of the request log."""
