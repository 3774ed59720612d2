"""The rail of Bitcoin, watch-only: deposits to addresses of an account key, payouts by PSBT. No private key is here."""
