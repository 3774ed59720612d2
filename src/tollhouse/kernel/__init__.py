"""Values that all parts share: money, IDs, time, scopes, limits and errors; types of the catalogue; the interface of a rail.

It imports nothing of Tollhouse. Start with `money.py`, `errors.py` and `rails/provider.py`.
"""
