"""Tests of the signer."""
