"""The story of a payment, from the request to the attempts of its webhooks."""
