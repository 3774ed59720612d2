"""The simulator: plays customer, operator and bank in test mode. Its observations are settled like those of any rail."""

from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from tollhouse.accounts.environments import payment_settings
from tollhouse.http.services import Services, Work
from tollhouse.kernel import clock
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.currencies import Currency
from tollhouse.kernel.catalogue.methods import Method
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, FieldError, ValidationFailed
from tollhouse.kernel.ids import new_id
from tollhouse.kernel.rails.provider import Attempt, Decline, Observation, Payer, PayoutState, Submission
from tollhouse.payments.links import store as link_store
from tollhouse.payments.links.model import CheckoutPrice, PaymentLink
from tollhouse.payments.refunds import chargebacks
from tollhouse.payments.transactions import link_closing, settlement
from tollhouse.payments.transactions import store as transaction_store
from tollhouse.payments.transactions.model import CREDITED, Transaction
from tollhouse.platform.database.pool import Tx
from tollhouse.platform.log.events import log
from tollhouse.rails.sandbox import provider as sandbox
from tollhouse.rails.sandbox import store
from tollhouse.rails.sandbox.provider import PAYOUT_TAKES, SANDBOX
from tollhouse.rails.sandbox.store import Plan
from tollhouse.transfers.orders.errors import InvalidState
from tollhouse.transfers.orders.store import clock_offset
from tollhouse.transfers.withdrawals import changes, sending
from tollhouse.transfers.withdrawals import store as withdrawals_store
from tollhouse.transfers.withdrawals.model import Withdrawal

Outcome = Literal[
    "succeed",
    "fail",
    "expire",
    "processing",
    "underpay",
    "overpay",
    "late",
    "duplicate",
    "chargeback",
    "chargeback_won",
    "chargeback_lost",
]
"""What the customer and the bank do.

succeed: The amount is paid and confirmed.
fail: The payment fails with `failure_code`.
expire: The deadline passes without a payment.
processing: The payment is seen and not confirmed yet.
underpay: Less than the amount arrives.
overpay: More than the amount arrives.
late: The money arrives after the deadline.
duplicate: The amount arrives a second time.
chargeback: The bank opens a dispute.
chargeback_won: The dispute ends in your favor.
chargeback_lost: The dispute ends in the customer's favor.
"""
CONFIRMATIONS = 3
"""The default where no confirmations are configured."""

PAYER = Payer(sandbox.PAYER)
REJECTED_REASON = "Rejected by the simulator."
SLOW = timedelta(seconds=5)
SOON = timedelta(seconds=1)
WithdrawalOutcome = Literal["approve", "reject", "process", "complete", "fail", "return", "stick"]
"""What the operator and the bank do.

approve: The operator approves it.
reject: The operator rejects it.
process: The bank begins to execute it.
complete: The money arrives.
fail: The bank declines it.
return: The money comes back after it arrived.
stick: The bank does not answer.
"""
CLOCK_OFFSET_MAX = timedelta(days=3_600)
"""Ten years; PostgreSQL compares intervals by months of thirty days."""
EXPIRED_AT_ONCE_MAX = 100
"""Links that expire when the clock is advanced; the worker expires the rest."""
BATCH_SIZE = 50
LEASE = timedelta(seconds=1)
TRIES_MAX = 10


class Simulated:
    """A sandbox transaction within one database transaction."""

    def __init__(self, work: Work, env: MerchantEnv, transaction_id: UUID) -> None:
        self.work = work
        self.env = env
        self.id = transaction_id
        self._locked: Transaction | None = None
        self._settled: Transaction | None = None

    async def lock(self) -> Transaction:
        """Read the transaction, which others do not change until the commit. Raises `NotFound`."""
        if self._locked is None:
            self._locked = await transaction_store.get_to_change(self.work.tx, self.env, self.id)
        return self._locked

    async def play(  # noqa: C901 - one line for each outcome
        self, outcome: Outcome, amount_minor: int | None = None, decline: Decline | None = None
    ) -> Transaction:
        """Simulate an outcome and return the transaction.

        Raises `NotFound`, and `InvalidState` if its state does not allow the outcome.
        """
        current = await self.lock()
        match outcome:
            case "succeed":
                await self._succeed(current, amount_minor)
            case "fail":
                await self._decline(current, decline or "card_declined")
            case "processing":
                await self._be_seen(current, amount_minor)
            case "expire":
                await self._expire(_open(current, self.work.now))
            case "underpay":
                left_minor = _left(_open(current, self.work.now))
                await self._pay(amount_minor or max(1, left_minor - max(1, left_minor // 100)))
            case "overpay":
                left_minor = _left(_open(current, self.work.now))
                await self._pay(amount_minor or left_minor + max(1, left_minor // 10))
            case "late":
                await self._pay_late(current, amount_minor)
            case "duplicate":
                await self._pay_twice(current, amount_minor)
            case "chargeback":
                await self._charge_back(current, amount_minor)
            case "chargeback_won" | "chargeback_lost":
                await self._decide(won=outcome == "chargeback_won")
        return self._settled or await transaction_store.lock(self.work.tx, self.env, self.id)

    async def pay(self) -> None:
        """Pay the remaining amount, ignoring magic amounts."""
        current = await self.lock()
        if current.is_open:
            await self._pay(_left(current))

    async def _succeed(self, current: Transaction, amount_minor: int | None) -> None:
        """Pay in full, unless the amount's last digits select another outcome."""
        left_minor = _left(_open(current, self.work.now))
        magic = None if amount_minor or current.received_minor or current.status != "pending" else sandbox.magic(left_minor)
        match magic:
            case sandbox.DECLINED:
                await self._decline(current, "card_declined")
            case sandbox.WITHOUT_FUNDS:
                await self._decline(current, "insufficient_funds")
            case sandbox.SLOW:
                await self._be_seen(current)
                await store.insert_plan(self.work.tx, self.env, self.id, "succeed", self.work.now + SLOW)
            case sandbox.UNDERPAID:
                await self._pay(left_minor - left_minor // 100)
            case sandbox.THEN_CHARGEBACK:
                await self._pay(left_minor)
                await store.insert_plan(self.work.tx, self.env, self.id, "chargeback", self.work.now + SOON)
            case _:
                if amount_minor is None and 0 < current.detected_minor < left_minor:
                    await self._pay(current.detected_minor)
                    left_minor -= current.detected_minor
                await self._pay(amount_minor or left_minor)

    async def _decline(self, current: Transaction, decline: Decline) -> None:
        _open(current, self.work.now)
        await self._report(Observation(reference=str(self.id), outcome="failed", external_ref=_ref(), failure_code=decline))

    async def _be_seen(self, current: Transaction, amount_minor: int | None = None) -> None:
        """Report money on its way, with one more confirmation each time, up to the one before the last."""
        _open(current, self.work.now)
        required = await self._required(self.work.services.catalogue.currencies[current.currency])
        confirmations = min((current.confirmations or 0) + 1, required - 1)
        await self._report(
            Observation(
                reference=str(self.id),
                outcome="seen",
                external_ref=_seen_ref(current),
                amount_minor=amount_minor or current.detected_minor or _left(current),
                arrived_at=None if current.detected_minor else self.work.now,
                confirmations=confirmations,
                required_confirmations=required,
            )
        )

    async def _required(self, currency: Currency) -> int:
        """The confirmations this merchant requires on the currency's first network."""
        if not currency.chains:
            return CONFIRMATIONS
        finality = (await payment_settings.of(self.work.tx, self.env)).finality(currency.chains[0])
        return finality if isinstance(finality, int) else CONFIRMATIONS

    async def _pay(self, amount_minor: int) -> None:
        """Confirm what is on its way, with this amount; without it, a new transfer."""
        current = await self.lock()
        external_ref = _seen_ref(current) if current.detected_minor else _ref()
        await self._report(
            Observation(
                reference=str(self.id),
                outcome="confirmed",
                external_ref=external_ref,
                amount_minor=amount_minor,
                payer=PAYER,
            )
        )

    async def _pay_late(self, current: Transaction, amount_minor: int | None) -> None:
        """Expire the link if it is active, then pay."""
        if current.status not in {"pending", "expired", "failed"}:
            raise InvalidState(current.status_at(self.work.now))
        if current.link_status == "active":
            await self._expire(current)
        await self._pay(amount_minor or _left(current))

    async def _pay_twice(self, current: Transaction, amount_minor: int | None) -> None:
        """Pay if the payment is open, then pay again."""
        if current.is_open:
            await self._pay(_left(_open(current, self.work.now)))
        elif current.status not in CREDITED:
            raise InvalidState(current.status_at(self.work.now))
        await self._pay(amount_minor or current.amount_minor)

    async def _charge_back(self, current: Transaction, amount_minor: int | None) -> None:
        """Pay if the payment is open, then charge it back."""
        if current.is_open:
            await self._pay(_left(_open(current, self.work.now)))
        self._forget()
        await chargebacks.open_chargeback(self.work, self.env, self.id, amount_minor=amount_minor)

    async def _decide(self, *, won: bool) -> None:
        self._forget()
        await chargebacks.decide(self.work, self.env, self.id, won=won)

    async def _expire(self, current: Transaction) -> None:
        """Expire the link now."""
        self._forget()
        link = await link_store.lock(self.work.tx, self.env, current.payment_link_id)
        if not await link_closing.expire(self.work, link):
            raise InvalidState(current.status_at(self.work.now))

    async def _report(self, observation: Observation) -> None:
        current = self._locked or await transaction_store.lock(self.work.tx, self.env, self.id)
        self._forget()
        settled = await settlement.settle_locked(self.work, current, observation)
        self._settled = settled if settled is not None and settled.id == self.id else None

    def _forget(self) -> None:
        """What was read is outdated."""
        self._locked = self._settled = None


async def attempt(
    tx: Tx, link: PaymentLink, now: datetime, catalogue: Catalogue, price: CheckoutPrice | None = None
) -> UUID:
    """Start an attempt on this locked link in the sandbox, whatever its status. `price`: default as suggested."""
    price = price or link.suggested_price
    method = sandbox_method(link, catalogue)
    attempt_id = new_id()
    instructions = await SANDBOX.start_payment(Attempt(attempt_id, method.method_id, link.currency, price.amount_minor))
    await transaction_store.insert(tx, link, attempt_id, method, instructions, price, now)
    await link_store.record_attempt(tx, link, attempt_id, now)
    return attempt_id


def sandbox_method(link: PaymentLink, catalogue: Catalogue) -> Method:
    """The simulator's method for the link's currency."""
    return catalogue.methods[f"{SANDBOX.name}:{link.currency}"]


def _open(transaction: Transaction, now: datetime) -> Transaction:
    """Raise `InvalidState` unless it can be paid. A link completed by others can: as a duplicate."""
    too_late = transaction.status == "pending" and transaction.link_status_at(now) == "expired"
    if not transaction.is_open or too_late:
        raise InvalidState(transaction.status_at(now))
    return transaction


def _left(transaction: Transaction) -> int:
    """The remaining amount; the full amount if nothing remains."""
    return max(0, transaction.amount_minor - transaction.received_minor) or transaction.amount_minor


def _seen_ref(current: Transaction) -> str:
    """The external reference of the transfer that is on its way: one for each part."""
    return f"seen-{current.id}-{current.received_minor}"


def _ref() -> str:
    """An external reference, like a bank's."""
    return f"sandbox-{new_id()}"


async def play_withdrawal(  # noqa: C901 - one line for each outcome
    work: Work, env: MerchantEnv, withdrawal_id: UUID, outcome: WithdrawalOutcome
) -> Withdrawal:
    """Make this happen, with the steps before it. Raises `NotFound`, and `InvalidState` where it is not possible."""
    current = await withdrawals_store.lock(work.tx, env, withdrawal_id)
    if outcome in {"stick", "complete", "fail"} or (outcome == "return" and current.status != "completed"):
        await _ensure_processing(work, current)
    match outcome:
        case "approve" if current.status != "approved":  # every withdrawal of test mode starts approved
            raise InvalidState(current.status)
        case "approve":
            changed = current
        case "reject":
            changed = await changes.reject(work, current, REJECTED_REASON)
        case "process":
            await sending.begin(work, env, withdrawal_id)
            accepted = Submission("accepted", f"sandbox-{withdrawal_id}")
            changed = await sending.record_submission(
                work.tx, env, withdrawal_id, accepted, work.now + PAYOUT_TAKES, work.now
            )
        case "stick":
            changed = await sending.record_submission(work.tx, env, withdrawal_id, Submission("unknown"), None, work.now)
        case "fail":
            changed = await sending.fail(work, env, withdrawal_id, "payout_declined")
        case "complete":
            changed = await sending.complete(work, env, withdrawal_id, PayoutState("succeeded"))
        case "return":
            if current.status != "completed":
                await sending.complete(work, env, withdrawal_id, PayoutState("succeeded"))
            changed = await sending.record_return(work, env, withdrawal_id)
    return changed


async def _ensure_processing(work: Work, current: Withdrawal) -> None:
    if current.status != "processing":
        await sending.begin(work, current.env, current.id)


async def run_plans(services: Services) -> None:
    """Carry out due plans, and drop those that failed too often."""
    now = clock.now()
    for plan in await store.lease_due(services.db, now, LEASE, BATCH_SIZE):
        await services.transact(lambda work, plan=plan: _run(work, plan), now)
    if dropped := await store.delete_failed(services.db, TRIES_MAX):
        log.error("simulator_plans_dropped", count=dropped)


async def _run(work: Work, plan: Plan) -> None:
    try:
        if plan.outcome == "succeed":
            await Simulated(work, plan.env, plan.transaction_id).pay()
        else:
            await chargebacks.open_chargeback(work, plan.env, plan.transaction_id)
    except ApiError as error:  # nothing was written: the payment has ended otherwise
        log.info("simulator_plan_obsolete", detail=error.code)
    await store.delete_plan(work.tx, plan)


async def advance_clock(work: Work, env: MerchantEnv, by: timedelta) -> timedelta:
    """Advance the merchant's test clock, and return how far it is ahead. Links that are due then expire.

    Raises `ValidationFailed` beyond ten years.
    """
    if await clock_offset(work.tx, env) + by > CLOCK_OFFSET_MAX:
        raise ValidationFailed(
            FieldError("seconds", "out_of_range", "This must not move the clock more than ten years ahead.")
        )
    offset = await store.advance_clock(work.tx, env, by)
    for link_id in await link_store.list_due_of_merchant(work.tx, env, work.now, EXPIRED_AT_ONCE_MAX):
        await link_closing.expire_due(work, env, link_id)
    return offset
