"""How near delivering events comes to what the client and the queue could do alone: `python -m benchmarks.webhooks`."""
