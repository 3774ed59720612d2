"""Who acts and what they have set: people, sessions, keys, merchants, environments, settings, audit, email and approvals.

It imports `http` and what is below. Start with `identity/guards.py`, which authenticates each request, and
`approvals/rules.py`, which says when operators may decide.
"""
