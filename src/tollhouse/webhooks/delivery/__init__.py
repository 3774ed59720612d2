"""The delivery of webhook events: claims, signed requests, results and retries, within limits for each destination.

Start with `worker.py`, and `results.py` for retries.
"""
