"""The sandbox of test mode: the payment simulator, test funds, the test clock and sample data.

Start with `provider.py`, which decides, and `simulator.py`.
"""
