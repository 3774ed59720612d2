"""Infrastructure: PostgreSQL, the web server, outgoing HTTP and email, encryption, passwords, settings and the log.

It imports `kernel` only, and knows nothing of payments. Start with `database/pool.py` and `database/transaction.py`.
"""
