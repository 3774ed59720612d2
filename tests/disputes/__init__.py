"""Tests of disputes."""
