"""Payment links, the checkout, transactions and balances, through HTTP."""
