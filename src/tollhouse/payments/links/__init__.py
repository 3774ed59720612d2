"""Payment links, and the currencies, payment methods and projects they can use.

Start with `new_link.py`, and `offers.py` for what a customer can pay by.
"""
