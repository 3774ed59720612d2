"""The Integration API's test endpoints: simulator, test funds and test clock."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal
from uuid import UUID

from msgspec import Meta, Struct

from tollhouse.accounts.identity.guards import TestCredentialGuard
from tollhouse.accounts.identity.model import Caller, TestModeOnly
from tollhouse.http.bodies import ValidationContext
from tollhouse.http.operations import INTEGRATION, Operations
from tollhouse.http.services import Work
from tollhouse.kernel import messages
from tollhouse.kernel.catalogue.amounts import Amount, amount_error, minor_of, optional_amount_errors
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.currencies import Currency
from tollhouse.kernel.clock import Timestamp, stamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import FieldError, NotFound, ValidationFailed
from tollhouse.kernel.examples import example
from tollhouse.kernel.ids import Mode, new_id
from tollhouse.kernel.rails.provider import Decline
from tollhouse.ledger.books.model import BalanceLimitExceeded, JournalEntry, Posting, Source, available, equity
from tollhouse.ledger.books.post import post
from tollhouse.ledger.books.store import get_balance
from tollhouse.ledger.books.views import BalanceView, balance_view
from tollhouse.payments.links import store as link_store
from tollhouse.payments.links.model import CheckoutPrice, PaymentLink
from tollhouse.payments.refunds import actions as refund_actions
from tollhouse.payments.refunds import review as refund_review
from tollhouse.payments.refunds import store as refund_store
from tollhouse.payments.transactions.views import RefundView, TransactionView, refund_view, transaction_view
from tollhouse.rails.sandbox import simulator
from tollhouse.rails.sandbox.simulator import Outcome, Simulated, WithdrawalOutcome, play_withdrawal
from tollhouse.transfers.gate.model import DestinationRefused, DestinationWaits, SecondMemberRequired
from tollhouse.transfers.orders.balance_events import Cause, notify_balance
from tollhouse.transfers.orders.errors import InvalidState
from tollhouse.transfers.withdrawals.views import WithdrawalView, withdrawal_view

OPERATIONS = Operations(INTEGRATION)
SOURCE = "test_funding"
NOT_ALLOWED = "This must be what customers of the payment link can choose."


class Simulation(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The outcome to simulate. `amount` applies to outcomes that move money and has a default."""

    outcome: Annotated[Outcome, example("succeed")]
    """What the customer and the bank do. See [Test mode](/docs/test-mode.md)."""
    amount: Amount = None
    """Amount that the customer pays, for outcomes with another amount."""
    failure_code: Decline | None = None
    """Why the payment fails, for the outcome `fail`."""

    def rule_errors(self, _context: ValidationContext) -> Iterator[FieldError]:
        """Yield the invalid fields that do not depend on the payment."""
        return optional_amount_errors(self.amount)


class LinkSimulation(Simulation, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The payment to simulate. `quantity` and `customer_amount` are what the customer of such a link chooses."""

    quantity: int | None = None
    """How many the customer chooses, if the link has a `quantity`."""
    customer_amount: Amount = None
    """Amount that the customer chooses, if the link has a `customer_amount`."""

    def rule_errors(self, context: ValidationContext) -> Iterator[FieldError]:
        """Yield the invalid fields that do not depend on the link."""
        yield from Simulation.rule_errors(self, context)
        yield from optional_amount_errors(self.customer_amount, "customer_amount")

    def price_of(self, link: PaymentLink, currency: Currency) -> CheckoutPrice:
        """The chosen price, by default what the link suggests. Raises `ValidationFailed` if the link does not allow it."""
        price, field = link.suggested_price, "quantity"
        if self.quantity is not None:
            price = link.price_of(self.quantity)
        if self.customer_amount is not None:
            price, field = CheckoutPrice(_minor(self.customer_amount, currency, "customer_amount")), "customer_amount"
        if not link.allows(price) or (field == "customer_amount" and link.customer_amount is None):
            raise ValidationFailed(FieldError(field, "out_of_range", NOT_ALLOWED))
        return price


class RefundSimulation(Struct, frozen=True, forbid_unknown_fields=True):
    """The outcome to simulate; `return`: the bank returns it later. A refund under review is approved first."""

    outcome: Annotated[Literal["approve", "reject", "succeed", "fail", "return"], example("succeed")]
    """What the operator and the bank do.

    approve: The operator approves it.
    reject: The operator rejects it.
    succeed: The money arrives.
    fail: The bank declines it.
    return: The money comes back after it arrived.
    """


class Funding(Struct, frozen=True, forbid_unknown_fields=True):
    """The amount of test funds."""

    currency: str
    amount: Annotated[Amount, example("100.00")]

    def rule_errors(self, context: ValidationContext) -> Iterator[FieldError]:
        """Every invalid field."""
        return self.field_errors(context.catalogue)

    def field_errors(self, catalogue: Catalogue) -> Iterator[FieldError]:
        """Every invalid field."""
        known = catalogue.currencies.get(self.currency)
        if known is None or not known.operations.balances:
            yield FieldError("currency", "invalid_currency", messages.A_CURRENCY)
        if minor_of(self.amount, known) is None:
            yield amount_error(known)


class ClockAdvance(Struct, frozen=True, forbid_unknown_fields=True):
    """How far to advance the clock."""

    seconds: Annotated[int, Meta(ge=1, le=simulator.CLOCK_OFFSET_MAX.days * 86_400), example(3600)]
    """Number of seconds to move the clock forward."""


class ClockView(Struct, frozen=True, kw_only=True):
    """The test clock, which expiries of links, quotes and others are compared with."""

    object: Literal["test_clock"] = "test_clock"
    now: Timestamp
    """Time of the test environment."""
    ahead_seconds: Annotated[int, example(3600)]
    """Seconds by which it is ahead of real time."""
    mode: Mode
    livemode: bool


@OPERATIONS.add(
    "POST",
    "/test/transactions/{transaction_id}/simulate",
    guard=TestCredentialGuard("payments:write"),
    idempotency="honoured",
    errors=(TestModeOnly, NotFound, ValidationFailed, InvalidState, BalanceLimitExceeded),
)
async def simulate_transaction(caller: Caller, transaction_id: UUID, body: Simulation, work: Work) -> TransactionView:
    """Simulate a transaction. You decide what the customer and the bank do."""
    return await _play(Simulated(work, caller.env, transaction_id), body)


@OPERATIONS.add(
    "POST",
    "/test/payment-links/{link_id}/simulate",
    guard=TestCredentialGuard("payments:write"),
    idempotency="honoured",
    errors=(TestModeOnly, NotFound, ValidationFailed, InvalidState, BalanceLimitExceeded),
)
async def simulate_link(caller: Caller, link_id: UUID, body: LinkSimulation, work: Work) -> TransactionView:
    """Simulate a payment of a link. Starts a transaction in the simulator, and simulates its outcome."""
    link = await link_store.lock(work.tx, caller.env, link_id)
    catalogue = work.services.catalogue
    price = body.price_of(link, catalogue.currencies[link.currency])
    attempt_id = await simulator.attempt(work.tx, link, work.now, catalogue, price)
    return await _play(Simulated(work, caller.env, attempt_id), body)


@OPERATIONS.add(
    "POST",
    "/test/refunds/{refund_id}/simulate",
    guard=TestCredentialGuard("payments:write"),
    idempotency="honoured",
    errors=(
        TestModeOnly,
        NotFound,
        InvalidState,
        BalanceLimitExceeded,
        DestinationWaits,
        DestinationRefused,
        SecondMemberRequired,
    ),
)
async def simulate_refund(caller: Caller, refund_id: UUID, body: RefundSimulation, work: Work) -> RefundView:
    """Simulate a refund. You decide what the operator and the bank do."""
    env = caller.env
    current = await refund_review.lock_in(work.tx, env, refund_id)
    if body.outcome == "approve" or (current.status == "required" and body.outcome != "reject"):
        await refund_review.approve_as_simulator(work.tx, current, work.now)
    match body.outcome:
        case "approve":
            refund = (await refund_review.lock_in(work.tx, env, refund_id)).refund
        case "reject":
            refund = await refund_review.reject(work, current, simulator.REJECTED_REASON)
        case "succeed":
            refund = await refund_actions.succeed(work, env, refund_id)
        case "fail":
            refund = await refund_actions.fail(work, env, refund_id, "refund_declined")
        case "return":
            found = await refund_store.get(work.tx, env, refund_id)
            if found.status == "pending":
                await refund_actions.succeed(work, env, refund_id)
            refund = await refund_actions.reverse(work, env, refund_id)
    return refund_view(refund, env, work.services.catalogue)


@OPERATIONS.add(
    "POST",
    "/test/balances/fund",
    guard=TestCredentialGuard("payments:write"),
    status=201,
    idempotency="honoured",
    errors=(TestModeOnly, ValidationFailed, BalanceLimitExceeded),
)
async def fund(caller: Caller, body: Funding, work: Work) -> BalanceView:
    """Add test funds to a balance."""
    if field_errors := list(body.field_errors(work.services.catalogue)):
        raise ValidationFailed(*field_errors)
    known, amount_minor = (
        work.services.catalogue.currencies[body.currency],
        _minor(body.amount, work.services.catalogue.currencies[body.currency]),
    )
    # A database constraint enforces the balance limit; its violation rolls everything back.
    funding_id = new_id()
    posting = Posting("test_funding", known.code, amount_minor, equity("test_funding"), available(caller.env))
    posted = await post(work, JournalEntry("test", "test_funding", Source(SOURCE, funding_id), (posting,)))
    cause = Cause(SOURCE, funding_id, "succeeded", 1)
    await notify_balance(work, caller.env, known.code, posted, cause, None)
    return balance_view(await get_balance(work.tx, caller.env, known.code), caller.env, known.decimals)


@OPERATIONS.add(
    "POST",
    "/test/clock/advance",
    guard=TestCredentialGuard("payments:write"),
    idempotency="honoured",
    errors=(TestModeOnly, ValidationFailed),
)
async def advance_clock(caller: Caller, body: ClockAdvance, work: Work) -> ClockView:
    """Advance the test clock. Links that are due then expire."""
    offset = await simulator.advance_clock(work, caller.env, timedelta(seconds=body.seconds))
    return _clock(caller.env, offset, work.now)


async def _play(simulated: Simulated, body: Simulation) -> TransactionView:
    """Simulate the outcome. Raises `NotFound`, `ValidationFailed`, and `InvalidState` if it is impossible."""
    catalogue, code = simulated.work.services.catalogue, (await simulated.lock()).currency
    amount_minor = None if body.amount is None else _minor(body.amount, catalogue.currencies[code])
    played = await simulated.play(body.outcome, amount_minor, body.failure_code)
    return transaction_view(played, simulated.work.now, catalogue)


def _clock(env: MerchantEnv, offset: timedelta, now: datetime) -> ClockView:
    seconds = offset // timedelta(seconds=1)
    return ClockView(now=stamp(now + offset), ahead_seconds=seconds, mode=env.mode, livemode=env.livemode)


def _minor(amount: Any, known: Currency, member: str = "amount") -> int:
    """The amount in minor units. Raises `ValidationFailed`."""
    amount_minor = minor_of(amount, known)
    if amount_minor is None:
        raise ValidationFailed(amount_error(known, member))
    return amount_minor


class WithdrawalSimulation(Struct, frozen=True, forbid_unknown_fields=True):
    """The outcome to simulate. `return`: it arrives and is returned; `stick`: its outcome stays unknown."""

    outcome: Annotated[WithdrawalOutcome, example("complete")]
    """What the operator and the bank do."""


@OPERATIONS.add(
    "POST",
    "/test/withdrawals/{withdrawal_id}/simulate",
    guard=TestCredentialGuard("withdrawals:write"),
    idempotency="honoured",
    errors=(
        TestModeOnly,
        NotFound,
        InvalidState,
        BalanceLimitExceeded,
        DestinationWaits,
        DestinationRefused,
        SecondMemberRequired,
    ),
)
async def simulate_withdrawal(caller: Caller, withdrawal_id: UUID, body: WithdrawalSimulation, work: Work) -> WithdrawalView:
    """Simulate a withdrawal. You decide what the operator and the bank do."""
    return withdrawal_view(await play_withdrawal(work, caller.env, withdrawal_id, body.outcome), work.services.catalogue)
