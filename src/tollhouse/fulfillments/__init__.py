"""Fulfillments: in-game currency that a merchant pays for, and a game server delivers to a player."""
