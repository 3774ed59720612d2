"""The game server of test mode: delivers to every player except those whose names determine the outcome."""

from tollhouse.kernel.rails.grants import UNKNOWN, GrantAnswer, GrantOrder

REFUSED = {"unknown": "unknown_player", "banned": "player_banned", "out-of-stock": "out_of_stock"}
PARTIAL, STUCK = "partial", "stuck"
"""The player who gets half, rounded up; the player whose grant is never answered."""


def grant(order: GrantOrder) -> GrantAnswer:
    """The outcome in the sandbox."""
    player = order.recipient.get("player_id")
    if player == STUCK:
        return UNKNOWN
    if player in REFUSED:
        return GrantAnswer(outcome="refused", failure_code=REFUSED[player])
    return granted(order, (order.quantity + 1) // 2 if player == PARTIAL else order.quantity)


def granted(order: GrantOrder, quantity: int) -> GrantAnswer:
    """This quantity was delivered."""
    return GrantAnswer(outcome="granted", reference=f"sandbox-{order.fulfillment_id}", delivered_quantity=quantity)
