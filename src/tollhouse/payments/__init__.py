"""What customers pay: payment links, transactions, refunds, disputes and receipts.

It imports `transfers` and what is below. Start with `links/new_link.py` and `transactions/settlement.py`.
"""
