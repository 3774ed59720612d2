"""Money in: payment links, the hosted checkout, transactions, and what they did to the balance."""
