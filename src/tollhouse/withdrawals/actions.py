"""Actions of merchants on withdrawals: quote, request and cancel."""

from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from tollhouse.approvals.model import Approvals
from tollhouse.audit import record
from tollhouse.audit.changes import new_values
from tollhouse.audit.event_types import AuditEventType
from tollhouse.catalogue.catalogue import Catalogue
from tollhouse.catalogue.withdrawal_methods import WithdrawalMethod
from tollhouse.http.services import Work
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import FieldError, ValidationFailed
from tollhouse.kernel.ids import new_id
from tollhouse.ledger import holds
from tollhouse.ledger.model import Source
from tollhouse.orders import quotes
from tollhouse.orders.funds import ensure_funds
from tollhouse.orders.quotes import Quote
from tollhouse.orders.store import ensure_external_id_unused
from tollhouse.outgoing import gate, limits
from tollhouse.outgoing.model import DailyCount, OutgoingTransfer
from tollhouse.platform.db import Tx
from tollhouse.rails.configured import Rails
from tollhouse.withdrawals import changes, notify, store
from tollhouse.withdrawals.model import CANCELABLE, Withdrawal, WithdrawalTerms
from tollhouse.withdrawals.new_withdrawal import (
    NewWithdrawal,
    NewWithdrawalQuote,
    ensure_limits,
    ensure_method_available,
    ensure_receiver,
    parse,
)

QUOTE_VALID_FOR = timedelta(seconds=60)
TEST_REVIEW_DELAY = timedelta(seconds=2)
"""How long a withdrawal of test mode waits before it is sent."""


async def quote(work: Work, env: MerchantEnv, new: NewWithdrawalQuote) -> Quote[WithdrawalTerms]:
    """Quote a withdrawal. Raises `ValidationFailed`, `WithdrawalMethodUnavailable` and the errors of amounts."""
    method, terms = parse(new, env, work.services.settings, work.services.catalogue)
    ensure_method_available(method, env.mode, work.services.rails, work.services.catalogue)
    ensure_limits(method, terms)
    return await _insert_quote(work.tx, env, terms, work.now)


async def preview(work: Work, env: MerchantEnv, new: NewWithdrawal) -> Quote[WithdrawalTerms]:
    """Quote a complete withdrawal. Raises every error of `request` but `DailyLimitExceeded`."""
    method, terms = parse(new, env, work.services.settings, work.services.catalogue)
    await _ensure_acceptable(work.tx, env, new, method, terms, work.services.rails, work.services.catalogue)
    return await _insert_quote(work.tx, env, terms, work.now)


async def request(work: Work, env: MerchantEnv, new: NewWithdrawal) -> Withdrawal:
    """Reserve the money and create the withdrawal. Operators review it in live mode; in test mode the worker sends it."""
    method, terms = parse(new, env, work.services.settings, work.services.catalogue)
    quoted = None if new.quote_id is None else await _lock_matching_quote(work.tx, env, new.quote_id, new, terms, work.now)
    terms = terms if quoted is None else quoted.terms
    await _ensure_acceptable(work.tx, env, new, method, terms, work.services.rails, work.services.catalogue)
    # The database checks the quote, limit, balance and external id again below; any error rolls everything back.
    if quoted is not None:
        await quotes.mark_used(work.tx, store.USE_QUOTE, quoted, work.now)
    counted = await limits.count(work.tx, env, method, terms.amount_minor, work.now)
    withdrawal_id = new_id()
    source = Source(notify.SOURCE, withdrawal_id)
    hold, posted = await holds.reserve(work, env, source, method.currency, terms.debit_minor)
    withdrawal = _withdrawal(withdrawal_id, env, new, method, terms, hold.id, work.now)
    await gate.admit(work.tx, _transfer(withdrawal, counted, work.services.rails))
    if not await store.insert(work.tx, withdrawal):
        await ensure_external_id_unused(work.tx, store.ID_BY_EXTERNAL_ID, env, new.external_id)
    await notify.balance_changed(work, withdrawal, posted)
    await _record_audit(work, withdrawal, "withdrawal.requested")
    return withdrawal


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


async def _ensure_acceptable(
    tx: Tx,
    env: MerchantEnv,
    new: NewWithdrawal,
    method: WithdrawalMethod,
    terms: WithdrawalTerms,
    rails: Rails,
    catalogue: Catalogue,
) -> None:
    """Raises `DuplicateExternalId`, `InsufficientFunds`, and the errors of methods, receivers and amounts."""
    await ensure_external_id_unused(tx, store.ID_BY_EXTERNAL_ID, env, new.external_id)
    ensure_method_available(method, env.mode, rails, catalogue)
    ensure_receiver(method, env.mode, new.receiver, rails)
    ensure_limits(method, terms)
    await ensure_funds(tx, env, terms.currency, terms.debit_minor)


def _withdrawal(
    withdrawal_id: UUID,
    env: MerchantEnv,
    new: NewWithdrawal,
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
        receiver=new.receiver,
        provider_fields=new.provider_fields,
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


def _transfer(withdrawal: Withdrawal, counted: DailyCount, rails: Rails) -> OutgoingTransfer:
    """The transfer of a withdrawal; its review is required in live mode."""
    provider = rails.find(withdrawal.rail, withdrawal.env.mode)
    receiver = withdrawal.receiver if provider is None else provider.account_of(withdrawal.receiver)
    return OutgoingTransfer(
        id=withdrawal.id,
        kind="withdrawal",
        env=withdrawal.env,
        rail=withdrawal.rail,
        currency=withdrawal.currency,
        amount_minor=withdrawal.receive_minor,
        receiver=receiver,
        receiver_name=withdrawal.provider_fields.get("account_holder_name"),
        count=counted,
        review="required" if withdrawal.approvals_needed else "not_required",
        approvals=Approvals((), 0, withdrawal.approvals_needed),
        created_at=withdrawal.created_at,
    )
