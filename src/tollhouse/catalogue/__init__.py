"""Currencies, payment and withdrawal methods, conversion pairs, products, projects, payment settings."""
