"""Card payments by a provider with Stripe's API."""
