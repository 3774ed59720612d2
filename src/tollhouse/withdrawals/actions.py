"""What a merchant does: ask for a quote, ask for a withdrawal, cancel one that was not sent yet."""

from datetime import datetime, timedelta
from uuid import UUID

from tollhouse.approvals.model import Approvals
from tollhouse.audit import record
from tollhouse.audit.changes import made
from tollhouse.audit.event_types import AuditEventType
from tollhouse.catalogue.currencies import priced
from tollhouse.http.services import Services
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import FieldError, NotFound, ValidationFailed
from tollhouse.kernel.ids import new_id
from tollhouse.ledger import holds
from tollhouse.ledger.model import Source
from tollhouse.orders.errors import DuplicateExternalId, InvalidState, QuoteAlreadyUsed, QuoteExpired
from tollhouse.orders.funds import ensure_available
from tollhouse.outgoing import gate, limits
from tollhouse.outgoing.model import DailyCount, OutgoingTransfer
from tollhouse.platform.db import Tx
from tollhouse.rails import configured
from tollhouse.withdrawals import changes, notify, quotes_store, store
from tollhouse.withdrawals.model import CANCELABLE, Quote, Terms, Withdrawal, terms
from tollhouse.withdrawals.new_withdrawal import (
    Asked,
    NewQuote,
    NewWithdrawal,
    refuse_receiver,
    refuse_unfitting,
    refuse_unusable,
    understand,
)

QUOTE_LASTS = timedelta(seconds=60)
TEST_WAIT = timedelta(seconds=2)
"""How long a withdrawal of test mode rests before it is sent, as if somebody reviewed it."""


async def quote(tx: Tx, env: MerchantEnv, new: NewQuote, services: Services, now: datetime) -> Quote:
    """Tell what a withdrawal costs, and keep to it for a minute. Raises the refusals of methods and amounts."""
    asked = understand(new, env, services.settings)
    refuse_unusable(asked.method, env.mode)
    costs = terms(asked.method, asked.amount_minor, asked.network_fee_mode)
    refuse_unfitting(asked.method, costs)
    # Nothing below this line may refuse.
    return await _keep(tx, env, asked, costs, now)


async def offer(tx: Tx, env: MerchantEnv, new: NewWithdrawal, services: Services, now: datetime) -> Quote:
    """A quote for all of a withdrawal that is asked for. Raises what `request` would, the limit of the day excepted."""
    asked = understand(new, env, services.settings)
    await _refuse_second(tx, env, new.external_id)
    refuse_unusable(asked.method, env.mode)
    refuse_receiver(asked.method, env.mode, new.receiver)
    costs = terms(asked.method, asked.amount_minor, asked.network_fee_mode)
    refuse_unfitting(asked.method, costs)
    await ensure_available(tx, env, asked.method.currency, costs.debit_minor)
    # Nothing below this line may refuse.
    return await _keep(tx, env, asked, costs, now)


async def request(tx: Tx, env: MerchantEnv, new: NewWithdrawal, services: Services, now: datetime) -> Withdrawal:
    """Set the money aside; an operator, or in test mode the worker, goes on. Raises every refusal there is."""
    asked = understand(new, env, services.settings)
    costs = await _costs(tx, env, new, asked, now)
    await _refuse_second(tx, env, new.external_id)
    refuse_unusable(asked.method, env.mode)
    refuse_receiver(asked.method, env.mode, new.receiver)
    refuse_unfitting(asked.method, costs)
    await ensure_available(tx, env, asked.method.currency, costs.debit_minor)
    # The database judges quote, limit, balance and external id once more below, and its verdict refuses everything.
    if new.quote_id is not None and not await quotes_store.use(tx, env, new.quote_id, now):
        raise await _why_not_quote(tx, env, new.quote_id)
    counted = await limits.count(tx, env, asked.method, asked.amount_minor, now)
    withdrawal_id = new_id()
    source = Source(notify.SOURCE, withdrawal_id)
    hold, posted = await holds.reserve(tx, env, source, asked.method.currency, costs.debit_minor, now)
    withdrawal = _withdrawal(withdrawal_id, env, new, asked, costs, hold.id, now)
    await gate.admit(tx, _transfer(withdrawal, counted))
    if not await store.insert(tx, withdrawal):
        await _refuse_second(tx, env, new.external_id)
    await notify.moved(tx, withdrawal, posted, services, now)
    await _note(tx, withdrawal, "withdrawal.requested", now)
    return withdrawal


async def cancel(tx: Tx, env: MerchantEnv, withdrawal_id: UUID, services: Services, now: datetime) -> Withdrawal:
    """Give the money back of one that was not sent yet. Raises `NotFound` and `InvalidState`."""
    current = await changes.lock(tx, env, withdrawal_id)
    if current.status not in CANCELABLE:
        raise InvalidState(current.status)
    # Nothing below this line may refuse.
    await _note(tx, current, "withdrawal.canceled", now)
    return await changes.give_back(tx, current, services, now, status="canceled")


async def _note(tx: Tx, withdrawal: Withdrawal, action: AuditEventType, now: datetime) -> None:
    amount = priced(withdrawal.amount_minor, withdrawal.currency)
    about = made(amount=amount, method_id=withdrawal.method_id, external_id=withdrawal.external_id)
    await record.note(tx, withdrawal.env, action, now, subject=withdrawal.id, changed=about)


async def _keep(tx: Tx, env: MerchantEnv, asked: Asked, costs: Terms, now: datetime) -> Quote:
    what = (asked.method.method_id, asked.method.currency)
    return await quotes_store.insert(tx, new_id(), env, what, costs, now, QUOTE_LASTS)


async def _costs(tx: Tx, env: MerchantEnv, new: NewWithdrawal, asked: Asked, now: datetime) -> Terms:
    """Those of the quote, or of now. Raises `NotFound`, `ValidationFailed`, `QuoteAlreadyUsed` and `QuoteExpired`."""
    if new.quote_id is None:
        return terms(asked.method, asked.amount_minor, asked.network_fee_mode)
    found = await quotes_store.one(tx, env, new.quote_id)
    if found is None:
        raise NotFound
    quoted = found.terms
    other = [
        FieldError(member, "quote_mismatch", "This must be the same as in the quote.")
        for member, differs in (
            ("method_id", found.method_id != asked.method.method_id),
            ("amount", quoted.amount_minor != asked.amount_minor),
            ("network_fee_mode", new.network_fee_mode not in {None, quoted.network_fee_mode}),
        )
        if differs
    ]
    if other:
        raise ValidationFailed(*other)
    if not await quotes_store.is_good(tx, env, new.quote_id, now):
        raise await _why_not_quote(tx, env, new.quote_id)
    return quoted


async def _why_not_quote(tx: Tx, env: MerchantEnv, quote_id: UUID) -> QuoteAlreadyUsed | QuoteExpired:
    found = await quotes_store.one(tx, env, quote_id)
    return QuoteExpired() if found is None or found.used_at is None else QuoteAlreadyUsed()


async def _refuse_second(tx: Tx, env: MerchantEnv, external_id: str | None) -> None:
    if external_id is not None and (existing := await store.id_of_external(tx, env, external_id)) is not None:
        raise DuplicateExternalId(existing)


def _withdrawal(
    withdrawal_id: UUID,
    env: MerchantEnv,
    new: NewWithdrawal,
    asked: Asked,
    costs: Terms,
    hold_id: UUID,
    now: datetime,
) -> Withdrawal:
    """In live mode it waits for operators, in test mode for a moment."""
    return Withdrawal(
        id=withdrawal_id,
        env=env,
        method_id=asked.method.method_id,
        rail=asked.method.rail,
        currency=asked.method.currency,
        amount_minor=costs.amount_minor,
        network_fee_mode=costs.network_fee_mode,
        system_fee_minor=costs.system_fee_minor,
        network_fee_minor=costs.network_fee_minor,
        debit_minor=costs.debit_minor,
        receive_minor=costs.receive_minor,
        receiver=new.receiver,
        provider_fields=new.provider_fields,
        quote_id=new.quote_id,
        hold_id=hold_id,
        status="pending_review" if env.livemode else "approved",
        approvals_needed=asked.method.approvals_needed(costs.amount_minor) if env.livemode else 0,
        webhook_url=new.webhook_url,
        external_id=new.external_id,
        description=new.description,
        metadata=new.metadata or {},
        next_look_at=None if env.livemode else now + TEST_WAIT,
        created_at=now,
        updated_at=now,
    )


def _transfer(withdrawal: Withdrawal, counted: DailyCount) -> OutgoingTransfer:
    """What leaves by the rail, to be reviewed in live mode."""
    provider = configured.rail(withdrawal.rail, withdrawal.env.mode)
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
