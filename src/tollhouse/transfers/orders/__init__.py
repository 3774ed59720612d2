"""What withdrawals, conversions, balance payments and fulfillments share: errors, quotes, external ids and funds.

Start with `quotes.py`.
"""
