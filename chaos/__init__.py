"""Chaos experiments: what the service and webhook delivery must withstand. `python -m chaos`."""
