"""The gate: what passes it leaves a merchant.

All value that leaves passes `let_leave`, and nothing of a suspended merchant does. Withdrawals and refunds pass it by
`release`, after receiver and limits (`admit`) and reviews (`approve`). Captures and refunds of balance payments, conversions
that the merchant or its rule asks for, and deliveries call it themselves. Nobody asks for chargebacks and for conversions
that belong to a payment; suspension does not stop them. Operations of sessions declare recent authentication.

The database enforces the same by its function `value_let_leave`: each of these writes a row of `value_releases`, and without
it no posting takes value from a merchant. Moreover there is no posting to a rail's outgoing side, no order at a rail and no
payout in a batch without a released transfer.

While a pause is open, no live money leaves by any rail. A restored database opens one, because it does not know which
payouts left after its backup. The database refuses the export of a payout by itself; rails that send at once are asked for
by jobs, which ask `may_submit` first.
"""

from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.accounts.approvals import rules
from tollhouse.accounts.approvals import store as approvals_store
from tollhouse.accounts.approvals.model import Approvals, Reviewer
from tollhouse.accounts.identity.model import Person
from tollhouse.accounts.merchants.second_member import ensure_second
from tollhouse.http.services import Work
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.withdrawal_methods import WithdrawalMethod
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import NotFound
from tollhouse.kernel.ids import MerchantId, new_id
from tollhouse.kernel.rails.provider import Provider
from tollhouse.ledger.books.model import Account, rail
from tollhouse.platform.database.pool import Pool, Tx
from tollhouse.platform.log.events import log
from tollhouse.transfers.gate import pauses_store, recipients_store, store
from tollhouse.transfers.gate.model import (
    DailyCount,
    DailyLimitExceeded,
    DestinationRefused,
    DestinationWaits,
    MerchantSuspended,
    NotReleased,
    OutgoingTransfer,
    PasswordWasReset,
    Pause,
    RecipientNotActive,
    RecipientNotSaved,
    SecondMemberRequired,
)
from tollhouse.transfers.orders.errors import AmountAboveMaximum, AmountBelowMinimum, InvalidState

SIMULATOR = "simulator"
MAY_LEAVE = frozenset({"not_required", "approved", "before_reviews"})
RESTORE = "tollhouse restore"
RESTORED = "The database was restored from a backup."
COPIED = "The database was copied or restored by other means than tollhouse restore."


def method_of(rail: str, currency: str, catalogue: Catalogue) -> WithdrawalMethod | None:
    """The withdrawal method of a rail and currency, if there is one."""
    return next(
        (method for method in catalogue.withdrawal_methods.values() if (method.rail, method.currency) == (rail, currency)),
        None,
    )


def ensure_amount(method: WithdrawalMethod, amount_minor: int) -> None:
    """Raises `AmountBelowMinimum` and `AmountAboveMaximum`."""
    if amount_minor < method.minimum_minor:
        raise AmountBelowMinimum(method.minimum_minor)
    if method.maximum_minor is not None and amount_minor > method.maximum_minor:
        raise AmountAboveMaximum(method.maximum_minor)


async def left_today(tx: Tx, env: MerchantEnv, method: WithdrawalMethod, now: datetime) -> int | None:
    """What the daily limit leaves in minor units; None without a limit."""
    if method.daily_limit_minor is None:
        return None
    day = await store.today(tx, env, now)
    return max(0, method.daily_limit_minor - await store.sum_of_day(tx, env, method.method_id, day))


async def add_to_day(tx: Tx, env: MerchantEnv, method: WithdrawalMethod, amount_minor: int, day: date) -> DailyCount:
    """Add the amount to the total of the environment's day. Raises `DailyLimitExceeded`."""
    counted = DailyCount(method.method_id, day, amount_minor)
    if not await store.add_to_day(tx, env, counted, method.daily_limit_minor):
        left_minor = (method.daily_limit_minor or 0) - await store.sum_of_day(tx, env, method.method_id, counted.day)
        raise DailyLimitExceeded(max(0, left_minor), datetime.combine(counted.day + timedelta(days=1), time(), UTC))
    return counted


class ApprovalPolicy(Struct, frozen=True):
    """How an installation approves: by which thresholds of its catalogue, and whether by a single operator."""

    catalogue: Catalogue | None = None
    single_operator: bool = False

    def above_minor(self, transfer: OutgoingTransfer) -> int | None:
        """The present threshold of the transfer's method, in minor units."""
        method = None if self.catalogue is None else method_of(transfer.rail, transfer.currency, self.catalogue)
        return None if method is None else method.second_operator_above_minor


TWO_OPERATORS = ApprovalPolicy()
"""By the threshold that each transfer has."""


async def let_leave(tx: Tx, merchant_id: MerchantId) -> None:
    """Lock the merchant against suspension, so that value can leave it. Raises `MerchantSuspended`."""
    if not await approvals_store.lock_active(tx, merchant_id):
        raise MerchantSuspended


async def admit(
    work: Work, new: OutgoingTransfer, asked_by: UUID | None = None, *, seconded: bool = False
) -> OutgoingTransfer:
    """Insert a transfer, in the transaction that holds its money; after `ensure_recipient`, unless it goes to the payer.

    `asked_by`: who answers for it, if the actor does not tell. `seconded`: the team has second members
    (`AdmittedDestination`); the transfer that is returned tells whether it needs one.
    """
    if not seconded:
        await store.insert(work.tx, new)
        return new
    new = msgspec.structs.replace(new, asked_by=asked_by or await responsible(work))
    return msgspec.structs.replace(new, second_member_required=await store.insert_seconded(work.tx, new))


async def responsible(work: Work) -> UUID | None:
    """The user who asks, made the key that asks, or gave the connection. None for the service itself."""
    actor = work.actor
    if actor.user_id is not None or actor.credential_id is None:
        return actor.user_id
    return await store.find_maker(work.tx, actor.credential_id)


async def second(tx: Tx, person: Person, transfer_id: UUID, now: datetime) -> OutgoingTransfer:
    """Approve a transfer of the person's merchant as the second member.

    Raises `NotFound`, `NotSecondMember`, and `InvalidState` where none is needed any more.
    """
    current = await lock(tx, transfer_id)
    if current.env.merchant_id != person.merchant_id:
        raise NotFound
    if not current.waits_for_member:
        raise InvalidState("closed" if current.closed_at else "approved")
    await ensure_second(tx, person, current.asked_by, now)
    # Nothing below this line may refuse.
    await store.second(tx, transfer_id, person.user_id, now)
    return msgspec.structs.replace(current, second_member_id=person.user_id, second_member_at=now)


class AdmittedDestination(NamedTuple):
    """The environment's day, by which limits count; how long money to this account waits (`Withdrawal.waits_until`).

    `seconded`: above some amount, the team needs a second member.
    """

    day: date
    waits_until: datetime | None
    seconded: bool


async def ensure_recipient(tx: Tx, env: MerchantEnv, rail_name: str, account: str, now: datetime) -> AdmittedDestination:
    """Return what counts for money to this account.

    Raises `RecipientNotSaved` and `RecipientNotActive` where money leaves only to saved recipients.
    """
    obstacle = await recipients_store.get_obstacle(tx, env, rail_name, account, now)
    if obstacle["has_second_members"]:
        await recipients_store.lock_second_member_rules(tx, env)
    if obstacle["is_limited"] and obstacle["active_at"] is None:
        raise RecipientNotSaved
    if obstacle["is_limited"] and obstacle["active_at"] > obstacle["present"]:
        raise RecipientNotActive(obstacle["active_at"])
    return AdmittedDestination(obstacle["today"], obstacle["waits_until"], obstacle["has_second_members"])


async def lock(tx: Tx, transfer_id: UUID) -> OutgoingTransfer:
    """Lock the transfer. Raises `NotFound`."""
    current = await store.lock(tx, transfer_id)
    if current is None:
        raise NotFound
    return current


async def approve(
    tx: Tx, transfer_id: UUID, reviewer: Reviewer, note: str | None, now: datetime, policy: ApprovalPolicy = TWO_OPERATORS
) -> OutgoingTransfer:
    """Record an operator's approval and return the transfer.

    Raises `NotFound`, `NotReleased` if no review is open, and `OperatorRefusedError` by the rules of approvals.
    """
    current = await lock(tx, transfer_id)
    if current.review != "required" or current.closed_at is not None:
        raise NotReleased(current.review)
    merchant_id = current.env.merchant_id
    await rules.ensure_independent(tx, merchant_id, reviewer)
    await rules.ensure_active(tx, merchant_id)
    usually = await store.approvals_needed(tx, transfer_id, now, policy.above_minor(current))
    needed = await rules.approvals_needed(tx, merchant_id, usually, now, single_operator=policy.single_operator)
    so_far = msgspec.structs.replace(current.approvals, needed=needed, single_operator=policy.single_operator)
    approvals = rules.approve(so_far, reviewer)
    # Nothing below this line may refuse.
    review = "approved" if approvals.complete else "required"
    reviewed_at = now if approvals.complete else None
    await store.approve(tx, transfer_id, approvals, review, reviewed_at, note)
    return msgspec.structs.replace(
        current, approvals=approvals, review=review, reviewed_at=reviewed_at, review_note=note or current.review_note
    )


async def approve_as_simulator(tx: Tx, transfer_id: UUID, now: datetime) -> None:
    """Approve in test mode, without operators. Raises `NotFound` and `NotReleased`."""
    current = await lock(tx, transfer_id)
    if current.env.livemode or current.review != "required" or current.closed_at is not None:
        raise NotReleased(current.review)
    needed = current.approvals.needed
    await store.approve(tx, transfer_id, Approvals((SIMULATOR,) * needed, 0, needed), "approved", now, None)


async def reject(tx: Tx, transfer_id: UUID, reason: str, now: datetime) -> OutgoingTransfer:
    """Reject an unreleased transfer and close it. Raises `NotFound` and `NotReleased`."""
    current = await lock(tx, transfer_id)
    if current.closed_at is not None or not await store.reject(tx, transfer_id, reason, now):
        raise NotReleased(current.review)
    # Nothing below this line may refuse.
    await close(tx, current, now)
    return msgspec.structs.replace(current, review="rejected", reviewed_at=now, review_note=reason, closed_at=now)


async def release(tx: Tx, transfer_id: UUID, now: datetime, *, leaves: bool = True) -> OutgoingTransfer:
    """Release a transfer; a released one stays so. `leaves`: with this, and not when an operator exports it.

    Raises `NotFound`, `NotReleased`, `DestinationWaits`, `DestinationRefused`, `SecondMemberRequired`, `MerchantSuspended`
    and `PasswordWasReset`.
    """
    current = await lock(tx, transfer_id)
    if current.review not in MAY_LEAVE or current.closed_at is not None:
        raise NotReleased(current.review)
    if current.released_at is not None:
        return current
    await _ensure_destination(tx, transfer_id, now)
    if current.waits_for_member:
        raise SecondMemberRequired
    await let_leave(tx, current.env.merchant_id)
    if leaves:
        await _ensure_approved_despite_reset(tx, current, now)
    if not await store.release(tx, transfer_id, now):
        raise AssertionError("a transfer that is locked does not change")
    return msgspec.structs.replace(current, released_at=now)


async def _ensure_approved_despite_reset(tx: Tx, transfer: OutgoingTransfer, now: datetime) -> None:
    """Raise `PasswordWasReset` where a reset requires two operators, and fewer have approved.

    Of payouts that are exported, the operator who exports is one of them (`exports`). Money to the account that paid needs
    nobody.
    """
    if not transfer.env.livemode or transfer.receiver == transfer.payer_account:
        return
    until = await rules.reset_counts_until(tx, transfer.env.merchant_id, now)
    if until is not None and len(transfer.approvals.given) < rules.TWO:
        raise PasswordWasReset(until)


async def _ensure_destination(tx: Tx, transfer_id: UUID, now: datetime) -> None:
    """Check where a locked transfer goes.

    Raises `DestinationWaits` while a change of the address of a user can be undone, unless the destination was paid or saved
    before the change; and `DestinationRefused` once the change was undone. Money to the payer does not wait.
    """
    wait = await store.find_wait(tx, transfer_id, now)
    if wait is not None:
        raise waiting(wait["until"])


def waiting(until: datetime | None) -> DestinationWaits | DestinationRefused:
    """The error of value that waits until then, or does not leave at all."""
    return DestinationRefused() if until is None else DestinationWaits(until)


async def close(tx: Tx, transfer: OutgoingTransfer, now: datetime) -> None:
    """Close a transfer that does not leave or came back, and restore its daily limit."""
    if await store.close(tx, transfer.id, now) and transfer.count is not None:
        await store.subtract_from_day(tx, transfer.env, transfer.count)


async def close_by_id(tx: Tx, transfer_id: UUID, now: datetime) -> None:
    """Close a transfer by its ID, and restore its daily limit."""
    await close(tx, await lock(tx, transfer_id), now)


def outgoing_side(transfer: OutgoingTransfer) -> Account:
    """The rail's account to credit. Only a released transfer has one."""
    if transfer.released_at is None or transfer.closed_at is not None:
        raise AssertionError("nothing leaves that was not released")
    return rail(transfer.rail)


async def may_submit(db: Pool, provider: Provider) -> bool:
    """Whether an order may be submitted to this rail now."""
    if provider.mode == "test" or provider.is_exported or not await pauses_store.are_paused(db):
        return True
    log.warning("payouts_paused", part=provider.name)
    return False


async def pause_restored(tx: Tx, data_until: datetime, now: datetime) -> None:
    """Pause payouts of a database that was restored from a backup of `data_until`."""
    await pauses_store.take_identity(tx)
    await pauses_store.insert(tx, Pause(new_id(), "restored", data_until, now, RESTORE, RESTORED))


async def pause_if_copied(tx: Tx, now: datetime) -> bool:
    """Pause payouts if this database is a copy of another one. Its data end with the newest posting."""
    if not await pauses_store.take_identity(tx):
        return False
    data_until = await pauses_store.last_posting_at(tx) or now
    await pauses_store.insert(tx, Pause(new_id(), "restored", data_until, now, RESTORE, COPIED))
    log.error("database_copied", advice="payouts are paused; see docs/backup.md")
    return True
