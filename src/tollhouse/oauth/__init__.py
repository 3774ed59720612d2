"""OAuth 2.0 for applications of third parties: registration, authorization code with PKCE, consent, tokens, revocation.

It imports `accounts` and what is below. Start with `authorize.py` and `token.py`.
"""
