"""Tests of OAuth over HTTP."""
