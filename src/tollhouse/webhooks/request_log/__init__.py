"""The request log: redacted requests to the Integration API of the last days.

Start with `recorder.py`.
"""
