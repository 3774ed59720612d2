"""Currencies, payment and withdrawal methods, conversion pairs and products, from data files and the operator's file."""
