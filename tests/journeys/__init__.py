"""Whole stories, as people and programs live them."""
