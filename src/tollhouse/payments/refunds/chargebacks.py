"""Chargebacks: the customer's bank takes the money back, even if that puts the balance into debt."""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

import msgspec

from tollhouse.accounts.mail.notices import NoticeFacts
from tollhouse.accounts.notifications.notify import Occurrence, notify_members
from tollhouse.http.services import Work
from tollhouse.kernel.clock import stamp_or_none
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import NotFound
from tollhouse.kernel.ids import new_id
from tollhouse.ledger.books.model import EntryType, JournalEntry, Posting, Source, available, income, rail
from tollhouse.ledger.books.post import Charge, charge_postings, post
from tollhouse.payments.refunds import actions, store
from tollhouse.payments.refunds.new_refund import ChargedBack
from tollhouse.payments.refunds.store import AwaitedResponse
from tollhouse.payments.transactions import notify, priced, verdict
from tollhouse.payments.transactions import store as transaction_store
from tollhouse.payments.transactions.model import REFUNDABLE, Chargeback, ChargebackStatus, Refund, Transaction
from tollhouse.platform.database.pool import Tx
from tollhouse.transfers.orders.balance_events import Cause
from tollhouse.transfers.orders.errors import InvalidState

SOURCE = "chargeback"
DISPUTABLE = REFUNDABLE | {"refunded"}
"""The statuses of payments of which money was received."""
RESPONSE_TIME = timedelta(days=14)
"""How long the merchant can respond to a chargeback."""


async def open_chargeback(
    work: Work, env: MerchantEnv, transaction_id: UUID, *, amount_minor: int | None = None, reason: str = "fraudulent"
) -> Transaction:
    """Open a chargeback of at most what was received, plus the method's fee. By default of what the merchant keeps.

    What was refunded can be disputed, too: released refunds continue. Unreleased ones fail. Raises `NotFound` and
    `InvalidState`.
    """
    current = await transaction_store.lock(work.tx, env, transaction_id)
    stoppable = await actions.list_unreleased(work.tx, current)
    if current.status not in DISPUTABLE or _disputable_without(current, stoppable) <= 0:
        raise InvalidState(current.status_at(work.now))
    # Nothing below this line may refuse.
    current = await actions.stop(work, current, stoppable, ChargedBack.code)
    taken_minor = min(amount_minor or current.kept_minor or current.disputable_minor, current.disputable_minor)
    fee_minor = work.services.catalogue.fees_of(current.method_id).chargeback_minor
    awaited = awaited_response(work, current)
    changed, _ = await charge_back(work, current, taken_minor, reason, awaited, fee_minor=fee_minor)
    return changed


async def get_disputable(tx: Tx, current: Transaction) -> int:
    """What a chargeback of a locked payment would take at most, after it has stopped the unreleased refunds."""
    return _disputable_without(current, await actions.list_unreleased(tx, current))


def awaited_response(work: Work, current: Transaction, provider_reference: str | None = None) -> AwaitedResponse:
    """A response within 14 days on the environment's clock. `provider_reference` is the dispute's ID at the provider."""
    return AwaitedResponse(work.now + current.clock_offset + RESPONSE_TIME, provider_reference)


async def charge_back(
    work: Work, current: Transaction, amount_minor: int, reason: str, awaited: AwaitedResponse, *, fee_minor: int
) -> tuple[Transaction, Chargeback]:
    """Take this much of a locked payment from the merchant, and the fee: `disputable_minor` at most.

    What was refunded before is ready as evidence. A payment has one chargeback that is not won for each
    `provider_reference`.
    """
    chargeback = Chargeback(
        id=new_id(),
        amount_minor=amount_minor,
        fee_minor=fee_minor,
        reason=reason,
        status="open",
        opened_at=work.now,
        closed_at=None,
    )
    evidence = actions.refund_evidence(current, work.services.catalogue)
    await store.insert_chargeback(work.tx, current, chargeback, awaited, evidence)
    disputed = msgspec.structs.replace(
        current, charged_back_minor=current.charged_back_minor + amount_minor, chargeback=chargeback
    )
    changed = await transaction_store.change(work.tx, verdict.with_derived_status(disputed), reason, work.now)
    charges = [Charge("chargeback", amount_minor, rail(current.rail))]
    if fee_minor:
        charges.append(Charge("chargeback_fee", fee_minor, income("chargeback_fee")))
    if current.price is not None:
        await priced.lock_positions(work, current)
        await priced.convert_back_affordable(work, current, chargeback.id, sum(charge.amount_minor for charge in charges))
    postings = await charge_postings(work.tx, current.env, current.currency, charges)
    await notify.payment(work, "payment.chargeback", changed, chargeback=chargeback)
    await _post(work, changed, chargeback, "chargeback", postings)
    await _notify_opened(work, changed, chargeback, awaited)
    return changed, chargeback


async def _notify_opened(work: Work, payment: Transaction, chargeback: Chargeback, awaited: AwaitedResponse) -> None:
    facts = NoticeFacts(
        amount=work.services.catalogue.format_amount(chargeback.amount_minor, payment.currency),
        currency=payment.currency,
        at=stamp_or_none(awaited.respond_by) or "",
    )
    await notify_members(work, "dispute_opened", Occurrence(payment.env, chargeback.id, facts, chargeback.id))


async def decide(
    work: Work, env: MerchantEnv, transaction_id: UUID, *, won: bool, chargeback_id: UUID | None = None
) -> Transaction:
    """Close an open chargeback, by default the latest. If won, the amount is returned, the fee is not.

    Raises `NotFound` and `InvalidState`.
    """
    current = await transaction_store.lock(work.tx, env, transaction_id)
    chargeback = current.chargeback if chargeback_id is None else await _get(work, env, chargeback_id)
    if chargeback is None or chargeback.status != "open":
        raise InvalidState(current.status_at(work.now))
    # Nothing below this line may refuse.
    return await _close(work, current, chargeback, "won" if won else "lost")


async def reinstate(work: Work, current: Transaction, chargeback_id: UUID) -> Transaction:
    """Return the amount of a chargeback of a locked payment, also of a lost one: its money is there again.

    Nothing changes if it is won.
    """
    chargeback = await _get(work, current.env, chargeback_id)
    return current if chargeback.status == "won" else await _close(work, current, chargeback, "won")


def _disputable_without(current: Transaction, stopped: Sequence[Refund]) -> int:
    """What is disputable once these pending refunds have failed: their unapplied part awaits a decision again."""
    return current.disputable_minor - sum(refund.unapplied_minor for refund in stopped)


async def _get(work: Work, env: MerchantEnv, chargeback_id: UUID) -> Chargeback:
    found = await store.get_chargeback(work.tx, env, chargeback_id)
    if found is None:
        raise NotFound
    return found


async def _close(work: Work, current: Transaction, chargeback: Chargeback, status: ChargebackStatus) -> Transaction:
    """Close a chargeback of a locked payment that is not won."""
    if not await store.close_chargeback(work.tx, current.env, chargeback, status, work.now, current.clock_offset):
        raise AssertionError("a chargeback of a locked payment does not change")
    closed = msgspec.structs.replace(chargeback, status=status, closed_at=work.now)
    is_latest = current.chargeback is not None and current.chargeback.id == closed.id
    new = msgspec.structs.replace(
        current,
        charged_back_minor=current.charged_back_minor - (closed.amount_minor if status == "won" else 0),
        chargeback=closed if is_latest else current.chargeback,
    )
    changed = await transaction_store.change(work.tx, verdict.with_derived_status(new), f"chargeback {status}", work.now)
    if status == "won":
        await priced.lock_positions(work, current)
        posting = Posting(
            "chargeback_reversal", current.currency, closed.amount_minor, rail(current.rail), available(current.env)
        )
        await _post(work, changed, closed, "chargeback_reversal", (posting,))
        if current.price is not None:
            await priced.convert_again(work, changed, closed.id, closed.amount_minor)
    return changed


async def _post(
    work: Work, transaction: Transaction, chargeback: Chargeback, kind: EntryType, postings: tuple[Posting, ...]
) -> None:
    posted = await post(work, JournalEntry(transaction.env.mode, kind, Source(SOURCE, chargeback.id), postings))
    cause = Cause(SOURCE, chargeback.id, chargeback.status, transaction.version)
    await notify.moved(work, transaction, posted, cause)
