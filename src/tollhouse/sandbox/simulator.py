"""The simulator: in test mode it plays the customer and the bank. What it reports goes the way of every rail's report."""

from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from tollhouse.catalogue import payment_settings
from tollhouse.catalogue.currencies import CURRENCIES, Currency
from tollhouse.catalogue.methods import METHODS, Method
from tollhouse.http.services import Services
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import new_id
from tollhouse.orders.errors import InvalidState
from tollhouse.payment_links import store as link_store
from tollhouse.payment_links.model import PaymentLink
from tollhouse.platform.db import Tx
from tollhouse.rails import sandbox
from tollhouse.rails.configured import SANDBOX
from tollhouse.rails.provider import Attempt, Decline, Observation, Payer
from tollhouse.refunds import chargebacks
from tollhouse.sandbox import store
from tollhouse.transactions import link_closing, settlement
from tollhouse.transactions import store as transaction_store
from tollhouse.transactions.model import CREDITED, Transaction

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
CONFIRMATIONS = 3
"""So many, where there are no blocks to count: for money that is on no chain, and where the chain itself decides."""

PAYER = Payer(sandbox.PAYER)
REJECTED_REASON = "Rejected by the simulator."
SLOW = timedelta(seconds=5)
SOON = timedelta(seconds=1)


class Simulated:
    """One transaction of the sandbox, and what may be made of it within one transaction of the database."""

    def __init__(self, tx: Tx, env: MerchantEnv, transaction_id: UUID, services: Services, now: datetime) -> None:
        self.tx = tx
        self.env = env
        self.id = transaction_id
        self.services = services
        self.now = now

    async def play(  # noqa: C901 - one line for each outcome
        self, outcome: Outcome, amount_minor: int | None = None, decline: Decline | None = None
    ) -> Transaction:
        """Let this happen; the transaction then.

        Raises `NotFound`, and `InvalidState` where it cannot happen in its state.
        """
        current = await settlement.lock(self.tx, self.env, self.id)
        match outcome:
            case "succeed":
                await self._succeed(current, amount_minor)
            case "fail":
                await self._decline(current, decline or "card_declined")
            case "processing":
                await self._be_seen(current)
            case "expire":
                await self._expire(_open(current, self.now))
            case "underpay":
                left_minor = _left(_open(current, self.now))
                await self._pay(amount_minor or max(1, left_minor - max(1, left_minor // 100)))
            case "overpay":
                left_minor = _left(_open(current, self.now))
                await self._pay(amount_minor or left_minor + max(1, left_minor // 10))
            case "late":
                await self._pay_late(current, amount_minor)
            case "duplicate":
                await self._pay_twice(current, amount_minor)
            case "chargeback":
                await self._charge_back(current, amount_minor)
            case "chargeback_won" | "chargeback_lost":
                await self._decide(won=outcome == "chargeback_won")
        return await settlement.lock(self.tx, self.env, self.id)

    async def pay(self) -> None:
        """Pay in full what is left, past all magic."""
        current = await settlement.lock(self.tx, self.env, self.id)
        if current.is_open:
            await self._pay(_left(current))

    async def _succeed(self, current: Transaction, amount_minor: int | None) -> None:
        """Pay in full; what the last digits of the amount say happens instead."""
        left_minor = _left(_open(current, self.now))
        magic = None if amount_minor or current.received_minor or current.status != "pending" else sandbox.magic(left_minor)
        match magic:
            case sandbox.DECLINED:
                await self._decline(current, "card_declined")
            case sandbox.WITHOUT_FUNDS:
                await self._decline(current, "insufficient_funds")
            case sandbox.SLOW:
                await self._be_seen(current)
                await store.plan(self.tx, self.env, self.id, "succeed", self.now + SLOW)
            case sandbox.UNDERPAID:
                await self._pay(left_minor - left_minor // 100)
            case sandbox.THEN_CHARGEBACK:
                await self._pay(left_minor)
                await store.plan(self.tx, self.env, self.id, "chargeback", self.now + SOON)
            case _:
                await self._pay(amount_minor or left_minor)

    async def _decline(self, current: Transaction, decline: Decline) -> None:
        _open(current, self.now)
        await self._report(Observation(reference=str(self.id), outcome="failed", external_ref=_ref(), failure_code=decline))

    async def _be_seen(self, current: Transaction) -> None:
        """Money is on its way; again: one confirmation more."""
        _open(current, self.now)
        required = await self._required(CURRENCIES[current.currency])
        confirmations = min((current.confirmations or 0) + 1, required - 1)
        await self._report(
            Observation(
                reference=str(self.id),
                outcome="seen",
                external_ref=f"seen-{self.id}-{current.received_minor}",
                amount_minor=_left(current),
                confirmations=confirmations,
                required_confirmations=required,
            )
        )

    async def _required(self, currency: Currency) -> int:
        """How many confirmations this merchant waits for on the first network of the currency."""
        if not currency.chains:
            return CONFIRMATIONS
        finality = (await payment_settings.of(self.tx, self.env)).finality(currency.chains[0])
        return finality if isinstance(finality, int) else CONFIRMATIONS

    async def _pay(self, amount_minor: int) -> None:
        await self._report(
            Observation(
                reference=str(self.id), outcome="confirmed", external_ref=_ref(), amount_minor=amount_minor, payer=PAYER
            )
        )

    async def _pay_late(self, current: Transaction, amount_minor: int | None) -> None:
        """Let the link expire, where it has not, and then pay."""
        if current.status not in {"pending", "expired", "failed"}:
            raise InvalidState(current.status_at(self.now))
        if current.link_status == "active":
            await self._expire(current)
        await self._pay(amount_minor or _left(current))

    async def _pay_twice(self, current: Transaction, amount_minor: int | None) -> None:
        """Pay, where nobody has, and then pay once more."""
        if current.is_open:
            await self._pay(_left(_open(current, self.now)))
        elif current.status not in CREDITED:
            raise InvalidState(current.status_at(self.now))
        await self._pay(amount_minor or current.amount_minor)

    async def _charge_back(self, current: Transaction, amount_minor: int | None) -> None:
        """Pay, where nobody has, and then have the bank take it back."""
        if current.is_open:
            await self._pay(_left(_open(current, self.now)))
        await chargebacks.open_one(self.tx, self.env, self.id, self.services, self.now, amount_minor=amount_minor)

    async def _decide(self, *, won: bool) -> None:
        await chargebacks.decide(self.tx, self.env, self.id, won=won, services=self.services, now=self.now)

    async def _expire(self, current: Transaction) -> None:
        """The link's time is over, as if the clock had struck."""
        link = await link_store.lock(self.tx, self.env, current.payment_link_id)
        if link is None or not await link_closing.expire(self.tx, link, self.services, self.now):
            raise InvalidState(current.status_at(self.now))

    async def _report(self, seen: Observation) -> None:
        await settlement.settle(self.tx, self.env, self.id, seen, self.services, self.now)


async def attempt(tx: Tx, link: PaymentLink, now: datetime) -> UUID:
    """A new attempt to pay this locked link in the sandbox, whatever state the link is in."""
    method = sandbox_method(link)
    attempt_id = new_id()
    told = await SANDBOX.start_payment(Attempt(attempt_id, method.method_id, link.currency, link.amount_minor))
    await transaction_store.begin(tx, link, attempt_id, method, told, now)
    await link_store.note_attempt(tx, link, attempt_id, now)
    return attempt_id


def sandbox_method(link: PaymentLink) -> Method:
    """The simulator's method for the currency of this link."""
    return METHODS[f"{SANDBOX.name}:{link.currency}"]


def _open(transaction: Transaction, now: datetime) -> Transaction:
    """Who pays after the link's time pays late, and says so. One whose link others completed may still pay: a duplicate."""
    too_late = transaction.status == "pending" and transaction.link_status_at(now) == "expired"
    if not transaction.is_open or too_late:
        raise InvalidState(transaction.status_at(now))
    return transaction


def _left(transaction: Transaction) -> int:
    """What the customer still owes; of a payment that has it all, all of it again."""
    return max(0, transaction.amount_minor - transaction.received_minor) or transaction.amount_minor


def _ref() -> str:
    """A name for a transfer, as a bank would give it."""
    return f"sandbox-{new_id()}"
