"""OAuth 2.0 for applications of third parties: registration, authorization code with PKCE, consent, tokens, revocation."""
