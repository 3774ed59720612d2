"""What spends a balance: withdrawals, conversions, balance payments and fulfillments, and the gate that each of them passes.

It imports `ledger`, `oauth`, `webhooks` and what is below. Start with `gate/gate.py` and `withdrawals/actions.py`.
"""
