"""Fulfillments: in-game products that a merchant pays for and a game server delivers to a player.

Start with `actions.py` and `jobs.py`.
"""
