"""Card payments by a provider: payments, disputes, and the balance at the provider."""
