"""The timeline of a payment: its states, the API requests behind them, what they moved in the ledger, and their events."""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.text import Translatable
from tollhouse.ledger.books.store import AccountChange
from tollhouse.payments.links.model import PaymentLink
from tollhouse.payments.transactions.model import Transaction, TransactionStatus, describe_detail, received_in
from tollhouse.webhooks.events.store import SourceEvent
from tollhouse.webhooks.request_log.model import CausingRequest


class PaymentStory(Struct, frozen=True):
    """A payment with everything its page shows."""

    payment: Transaction
    link: PaymentLink
    moves: list[AccountChange]
    events: list[SourceEvent]
    causes: list[CausingRequest]


class NetChange(Struct, frozen=True):
    """By how much an account of the merchant changed, as a signed decimal string."""

    account: str
    amount: str
    currency: str


class TimelineItem(Struct, frozen=True, kw_only=True):
    """An entry: a new state, something that happened in the same state (`detail` or `received` alone), an event, or changes.

    `received` is the amount that arrived. `link_created`: the payment link was created. `request` is the API request that
    caused the entry.
    """

    at: datetime
    status: TransactionStatus | None = None
    detail: Translatable = ""
    received: str = ""
    event: SourceEvent | None = None
    changes: tuple[NetChange, ...] = ()
    link_created: bool = False
    request: CausingRequest | None = None


def build_timeline(story: PaymentStory, catalogue: Catalogue) -> list[TimelineItem]:
    """All entries, newest first."""
    by_time: dict[datetime, list[AccountChange]] = {}
    for move in story.moves:
        by_time.setdefault(move.created_at, []).append(move)
    causes = {cause.created_at: cause for cause in story.causes}
    steps = story.payment.timeline
    link_at = story.link.created_at
    entries = [TimelineItem(at=link_at, link_created=True, request=causes.pop(link_at, None))]
    for number, step in enumerate(steps):
        changed = number == 0 or steps[number - 1].status != step.status
        is_last_at = number + 1 == len(steps) or steps[number + 1].at != step.at
        entries.append(
            TimelineItem(
                at=step.at,
                status=step.status if changed or not step.detail else None,
                detail=describe_detail(step.detail) if step.detail else "",
                received=received_in(step.detail or ""),
                changes=net_changes(by_time.pop(step.at, []), catalogue) if is_last_at else (),
                request=causes.pop(step.at, None) if is_last_at else None,
            )
        )
    entries += [
        TimelineItem(at=at, changes=net_changes(made, catalogue), request=causes.pop(at, None))
        for at, made in by_time.items()
    ]
    entries += [TimelineItem(at=event.created_at, event=event) for event in story.events]
    entries.sort(key=lambda entry: entry.at)
    return entries[::-1]


def net_changes(moves: Sequence[AccountChange], catalogue: Catalogue) -> tuple[NetChange, ...]:
    """The sum of the changes of each account."""
    sums: dict[tuple[str, str], int] = {}
    for move in moves:
        key = (move.account, move.currency)
        sums[key] = sums.get(key, 0) + move.delta_minor
    return tuple(
        NetChange(account, signed_amount(minor, currency, catalogue), currency)
        for (account, currency), minor in sums.items()
        if minor
    )


def signed_amount(minor: int, currency: str, catalogue: Catalogue) -> str:
    """The decimal string of a change, with its sign."""
    return f"{'+' if minor > 0 else ''}{catalogue.format_amount(minor, currency)}"
