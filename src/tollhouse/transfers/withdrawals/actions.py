"""Actions of merchants on withdrawals: quote, request and cancel."""

from datetime import datetime, timedelta
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.accounts.approvals.model import Approvals
from tollhouse.accounts.audit import record
from tollhouse.accounts.audit.event_types import AuditEventType
from tollhouse.accounts.audit.model import new_values
from tollhouse.accounts.identity.model import Person
from tollhouse.http.services import Work
from tollhouse.kernel.catalogue.withdrawal_methods import WithdrawalMethod
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import FieldError, NotFound, ValidationFailed
from tollhouse.kernel.ids import new_id
from tollhouse.ledger.books import holds
from tollhouse.ledger.books.model import Source
from tollhouse.platform.database.pool import Tx
from tollhouse.transfers.gate import gate, spending
from tollhouse.transfers.gate.model import DailyCount, OutgoingTransfer
from tollhouse.transfers.orders import quotes
from tollhouse.transfers.orders.errors import InvalidState
from tollhouse.transfers.orders.quotes import Quote
from tollhouse.transfers.orders.store import ensure_external_id_unused
from tollhouse.transfers.withdrawals import changes, store
from tollhouse.transfers.withdrawals.acceptance import (
    Payee,
    account_of,
    ensure_acceptable,
    ensure_limits,
    ensure_method_available,
    payee_of,
)
from tollhouse.transfers.withdrawals.model import CANCELABLE, Withdrawal, WithdrawalTerms
from tollhouse.transfers.withdrawals.new_withdrawal import NewWithdrawal, NewWithdrawalQuote, parse

QUOTE_VALID_FOR = timedelta(seconds=60)
TEST_REVIEW_DELAY = timedelta(seconds=2)
"""How long a withdrawal of test mode waits before it is sent."""


class BatchPlace(Struct, frozen=True):
    """The batch of a withdrawal and its row, from 0 on."""

    batch_id: UUID | None = None
    row: int | None = None


NO_BATCH = BatchPlace()


async def quote(work: Work, env: MerchantEnv, new: NewWithdrawalQuote) -> Quote[WithdrawalTerms]:
    """Quote a withdrawal. Raises `ValidationFailed`, `WithdrawalMethodUnavailable` and the errors of amounts."""
    method, terms = parse(new, env, work.services.settings, work.services.catalogue)
    ensure_method_available(method, env.mode, work.services.rails, work.services.catalogue)
    ensure_limits(method, terms)
    return await _insert_quote(work.tx, env, terms, work.now)


async def preview(work: Work, env: MerchantEnv, new: NewWithdrawal) -> Quote[WithdrawalTerms]:
    """Quote a complete withdrawal. Raises every error of `request` but `DailyLimitExceeded`."""
    method, terms = parse(new, env, work.services.settings, work.services.catalogue)
    payee = await payee_of(work, env, new, method)
    await ensure_acceptable(work, env, new, payee, method, terms)
    account = account_of(work.services.rails, method, env, payee.receiver)
    await gate.ensure_recipient(work.tx, env, method.rail, account, work.now)
    return await _insert_quote(work.tx, env, terms, work.now)


async def request(work: Work, env: MerchantEnv, new: NewWithdrawal, asked_by: UUID | None = None) -> Withdrawal:
    """Reserve the money and create the withdrawal. Operators review it in live mode; in test mode the worker sends it."""
    method, terms = parse(new, env, work.services.settings, work.services.catalogue)
    quoted = None if new.quote_id is None else await _lock_matching_quote(work.tx, env, new.quote_id, new, terms, work.now)
    terms = terms if quoted is None else quoted.terms
    payee = await payee_of(work, env, new, method)
    await ensure_acceptable(work, env, new, payee, method, terms)
    # The database checks the quote, limit, balance and external id again below; any error rolls everything back.
    if quoted is not None:
        await quotes.mark_used(work.tx, store.USE_QUOTE, quoted, work.now)
    return await create(work, env, new, payee, method, terms, asked_by=asked_by)


async def create(
    work: Work,
    env: MerchantEnv,
    new: NewWithdrawal,
    payee: Payee,
    method: WithdrawalMethod,
    terms: WithdrawalTerms,
    place: BatchPlace = NO_BATCH,
    asked_by: UUID | None = None,
) -> Withdrawal:
    """Create a withdrawal whose request was checked. `asked_by`: who answers for it, if the actor does not tell.

    Raises `ConnectionLimitExceeded`, `DailyLimitExceeded`, `InsufficientFunds`, `DuplicateExternalId` and the errors of
    `gate.admit`.
    """
    account = account_of(work.services.rails, method, env, payee.receiver)
    day, waits_until, seconded = await gate.ensure_recipient(work.tx, env, method.rail, account, work.now)
    withdrawal_id = new_id()
    debit_minor = terms.debit_minor
    await spending.spend(work, "withdrawals", withdrawal_id, method.currency, debit_minor, rail=method.rail, account=account)
    counted = await gate.add_to_day(work.tx, env, method, terms.amount_minor, day)
    source = Source(changes.SOURCE, withdrawal_id)
    hold, posted = await holds.reserve(work, env, source, method.currency, debit_minor)
    withdrawal = msgspec.structs.replace(
        _withdrawal(withdrawal_id, env, new, payee, method, terms, hold.id, work.now),
        batch_id=place.batch_id,
        batch_row=place.row,
        credential_id=work.actor.credential_id,
        waits_until=waits_until,
    )
    transfer = await gate.admit(work, _transfer(withdrawal, counted, account, method), asked_by, seconded=seconded)
    withdrawal = msgspec.structs.replace(withdrawal, waits_for_member=transfer.second_member_required)
    if not await store.insert(work.tx, withdrawal):
        await ensure_external_id_unused(work.tx, store.ID_BY_EXTERNAL_ID, env, new.external_id)
    await changes.balance_changed(work, withdrawal, posted)
    await _record_audit(work, withdrawal, "withdrawal.requested")
    if withdrawal.waits_for_member:
        await changes.notify_second_members(work, withdrawal, transfer.asked_by)
    return withdrawal


async def approve_as_member(work: Work, person: Person, withdrawal_id: UUID) -> Withdrawal:
    """Approve a withdrawal as the second member. Raises `NotFound`, `InvalidState` and `NotSecondMember`."""
    current = await changes.lock(work.tx, withdrawal_id)
    if current.env.merchant_id != person.merchant_id:
        raise NotFound
    if current.status not in CANCELABLE:
        raise InvalidState(current.status)
    await gate.second(work.tx, person, withdrawal_id, work.now)
    # Nothing below this line may refuse.
    await _record_audit(work, current, "withdrawal.seconded")
    look_at = work.now if current.status == "approved" else current.next_look_at
    changed = await store.update(work.tx, current, work.now, next_look_at=look_at)
    return msgspec.structs.replace(changed, waits_for_member=False)


async def cancel(work: Work, env: MerchantEnv, withdrawal_id: UUID) -> Withdrawal:
    """Cancel a withdrawal that was not sent yet, and release its hold. Raises `NotFound` and `InvalidState`."""
    current = await changes.lock_in_status(work.tx, env, withdrawal_id, *CANCELABLE)
    # Nothing below this line may refuse.
    await _record_audit(work, current, "withdrawal.canceled")
    return await changes.end_unsent(work, current, status="canceled")


async def _record_audit(work: Work, withdrawal: Withdrawal, action: AuditEventType) -> None:
    amount = work.services.catalogue.priced(withdrawal.amount_minor, withdrawal.currency)
    about = new_values(amount=amount, method_id=withdrawal.method_id, external_id=withdrawal.external_id)
    await record.event(work, withdrawal.env, action, subject=withdrawal.id, changed=about)


async def _insert_quote(tx: Tx, env: MerchantEnv, terms: WithdrawalTerms, now: datetime) -> Quote[WithdrawalTerms]:
    created = await quotes.create(tx, env, terms, now, QUOTE_VALID_FOR)
    await store.insert_quote(tx, created)
    return created


async def _lock_matching_quote(
    tx: Tx, env: MerchantEnv, quote_id: UUID, new: NewWithdrawal, terms: WithdrawalTerms, now: datetime
) -> Quote[WithdrawalTerms]:
    """The quote, locked. Raises `NotFound`, `ValidationFailed`, `QuoteAlreadyUsed` and `QuoteExpired`."""
    found = await store.lock_quote(tx, env, quote_id)
    quoted = found.terms
    differences = [
        FieldError(member, "quote_mismatch", "This must be the same as in the quote.")
        for member, differs in (
            ("method_id", quoted.method_id != terms.method_id),
            ("amount", quoted.amount_minor != terms.amount_minor),
            ("network_fee_mode", new.network_fee_mode not in {None, quoted.network_fee_mode}),
        )
        if differs
    ]
    if differences:
        raise ValidationFailed(*differences)
    await quotes.ensure_usable(tx, found, now)
    return found


def _withdrawal(
    withdrawal_id: UUID,
    env: MerchantEnv,
    new: NewWithdrawal,
    payee: Payee,
    method: WithdrawalMethod,
    terms: WithdrawalTerms,
    hold_id: UUID,
    now: datetime,
) -> Withdrawal:
    """A new withdrawal: pending review in live mode, approved in test mode."""
    return Withdrawal(
        id=withdrawal_id,
        env=env,
        **msgspec.structs.asdict(terms),
        rail=method.rail,
        debit_minor=terms.debit_minor,
        receive_minor=terms.receive_minor,
        receiver=payee.receiver,
        recipient_id=payee.recipient_id,
        provider_fields=payee.provider_fields,
        quote_id=new.quote_id,
        hold_id=hold_id,
        status="pending_review" if env.livemode else "approved",
        approvals_needed=method.approvals_needed(terms.amount_minor) if env.livemode else 0,
        webhook_url=new.webhook_url,
        external_id=new.external_id,
        description=new.description,
        metadata=new.metadata or {},
        next_look_at=None if env.livemode else now + TEST_REVIEW_DELAY,
        created_at=now,
        updated_at=now,
    )


def _transfer(withdrawal: Withdrawal, counted: DailyCount, account: str, method: WithdrawalMethod) -> OutgoingTransfer:
    """The transfer of a withdrawal to this account; its review is required in live mode."""
    return OutgoingTransfer(
        id=withdrawal.id,
        kind="withdrawal",
        env=withdrawal.env,
        rail=withdrawal.rail,
        currency=withdrawal.currency,
        amount_minor=withdrawal.receive_minor,
        receiver=account,
        receiver_name=withdrawal.provider_fields.get("account_holder_name"),
        count=counted,
        review="required" if withdrawal.approvals_needed else "not_required",
        approvals=Approvals((), 0, withdrawal.approvals_needed),
        second_operator_above_minor=method.second_operator_above_minor if withdrawal.approvals_needed else None,
        created_at=withdrawal.created_at,
    )
