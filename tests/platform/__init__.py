"""Tests of the platform."""
