"""How many bytes a payment with delivered webhooks keeps, and how many it writes: `python -m benchmarks.storage`."""
