"""The game server of test mode: delivers to everybody but a few players, whose names say what becomes of it."""

from tollhouse.rails.grants import UNKNOWN, GrantAnswer, GrantOrder

REFUSED = {"unknown": "unknown_player", "banned": "player_banned", "out-of-stock": "out_of_stock"}
PARTIAL, STUCK = "partial", "stuck"
"""The player who gets half of it, rounded up; the one of whom nothing is ever heard."""


def grant(order: GrantOrder) -> GrantAnswer:
    """What the sandbox answers."""
    player = order.recipient.get("player_id")
    if player == STUCK:
        return UNKNOWN
    if player in REFUSED:
        return GrantAnswer(outcome="refused", failure_code=REFUSED[player])
    return granted(order, (order.quantity + 1) // 2 if player == PARTIAL else order.quantity)


def granted(order: GrantOrder, quantity: int) -> GrantAnswer:
    """So much of it was delivered."""
    return GrantAnswer(outcome="granted", reference=f"sandbox-{order.fulfillment_id}", delivered_quantity=quantity)
