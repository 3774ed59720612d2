"""Cards by a provider with Stripe's API: hosted payment page, signed webhooks, refunds. No card data is handled here."""
