"""What EVM networks and Bitcoin share: addresses, cursors and health of the rails that follow a chain.

Start with `following.py`.
"""
