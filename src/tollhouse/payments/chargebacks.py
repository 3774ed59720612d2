"""Chargebacks: the customer's bank takes the money back, whether the merchant still has it or not; some are won back."""

from datetime import datetime
from uuid import UUID

import msgspec

from tollhouse.catalogue.methods import fees_of
from tollhouse.events.balances import Cause
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import new_id
from tollhouse.ledger import debts
from tollhouse.ledger.debts import Charge
from tollhouse.ledger.model import EntryType, Line, Posting, Source, available, income, rail
from tollhouse.ledger.post import post
from tollhouse.payments import refunds, refunds_store, settle, tell, verdict
from tollhouse.payments.model import CREDITED, Chargeback, ChargebackStatus, Transaction
from tollhouse.payments.refusals import ChargedBack, NotNow
from tollhouse.platform.db import Tx
from tollhouse.web.house import House

SOURCE = "chargeback"


async def open_one(
    tx: Tx,
    env: MerchantEnv,
    transaction_id: UUID,
    house: House,
    now: datetime,
    *,
    amount_minor: int | None = None,
    reason: str = "fraudulent",
) -> Transaction:
    """Take back what the merchant has kept of the payment, at most, and its method's fee. Raises `NotFound` and `NotNow`.

    Refunds that were released to the rail go on and are left out of it; the others fail.
    """
    present = await settle.hold_still(tx, env, transaction_id)
    stoppable = await refunds.unreleased(tx, present)
    on_the_way = sum(one.amount_minor - one.unapplied_minor for one in stoppable)
    if present.status not in CREDITED or present.kept_minor + on_the_way <= 0:
        raise NotNow(present.status_at(now))
    # Nothing below this line may refuse.
    present = await refunds.stop(tx, present, stoppable, ChargedBack.code, house, now)
    taken_minor = min(amount_minor or present.kept_minor, present.kept_minor)
    chargeback = Chargeback(
        id=new_id(),
        amount_minor=taken_minor,
        fee_minor=fees_of(present.method_id).chargeback_minor,
        reason=reason,
        status="open",
        opened_at=now,
        closed_at=None,
    )
    await refunds_store.open_chargeback(tx, present, chargeback)
    disputed = msgspec.structs.replace(present, charged_back_minor=taken_minor, chargeback=chargeback)
    changed = await settle.change(tx, verdict.settled(disputed), reason, now)
    charges = [Charge("chargeback", taken_minor, rail(present.rail))]
    if chargeback.fee_minor:
        charges.append(Charge("chargeback_fee", chargeback.fee_minor, income("chargeback_fee")))
    lines = await debts.lines_for(tx, env, present.currency, charges)
    await tell.payment(tx, "payment.chargeback", changed, house, now, chargeback=chargeback)
    await _post(tx, changed, chargeback, "chargeback", lines, house, now)
    return changed


async def decide(tx: Tx, env: MerchantEnv, transaction_id: UUID, *, won: bool, house: House, now: datetime) -> Transaction:
    """Close an open chargeback: won, the money comes back and the fee does not; lost, it stays where it is.

    Raises `NotFound` and `NotNow`.
    """
    present = await settle.hold_still(tx, env, transaction_id)
    standing = present.chargeback
    if standing is None or standing.status != "open":
        raise NotNow(present.status_at(now))
    # Nothing below this line may refuse.
    status: ChargebackStatus = "won" if won else "lost"
    if not await refunds_store.close_chargeback(tx, env, standing.id, status, now):
        raise AssertionError("a chargeback of a held payment does not change")
    closed = msgspec.structs.replace(standing, status=status, closed_at=now)
    kept_minor = 0 if won else present.charged_back_minor
    new = msgspec.structs.replace(present, charged_back_minor=kept_minor, chargeback=closed)
    changed = await settle.change(tx, verdict.settled(new), f"chargeback {status}", now)
    if won:
        line = Line("chargeback_reversal", present.currency, closed.amount_minor, rail(present.rail), available(env))
        await _post(tx, changed, closed, "chargeback_reversal", (line,), house, now)
    return changed


async def _post(
    tx: Tx,
    transaction: Transaction,
    chargeback: Chargeback,
    kind: EntryType,
    lines: tuple[Line, ...],
    house: House,
    now: datetime,
) -> None:
    posted = await post(tx, Posting(transaction.env.mode, kind, Source(SOURCE, chargeback.id), lines, now))
    cause = Cause(SOURCE, chargeback.id, chargeback.status, transaction.version)
    await tell.moved(tx, transaction, posted, cause, house, now)
