"""What customers pay: payment links, transactions, refunds, disputes and receipts.

It imports `transfers` and what is below. Start with `links/actions.py` and `transactions/settlement.py`.
"""
