"""Customers: whom payment links are for, by address or external ID, with their payments and the notes of the merchant.

A customer is no row: it is what the links of one address have in common, so that nothing is left of it once the address is
erased. Start with `store.py`.
"""
