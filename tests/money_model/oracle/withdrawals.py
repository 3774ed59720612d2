"""Withdrawals in the books: what they cost, what a day's limit leaves, who must approve, and where the money is."""

from dataclasses import dataclass, field
from typing import Literal

from tests.money_model.oracle.balances import SHOP, Fee, Purse, RefusedError
from tests.money_model.oracle.limits import Limits, Use, give_back

DAY_S = 86_400
FeeMode = Literal["deduct", "add"]
Bank = Literal["takes", "pays", "bounces", "declines", "unheard", "unanswered", "silent"]
"""What the rail does now: takes what comes, pays what it has or bounces it, declines what comes; or an order does not get
there, its answer does not get back, nobody answers questions."""

UNSENT = {"pending_review", "approved"}


@dataclass(frozen=True)
class Terms:
    """How a currency can be withdrawn."""

    fee: Fee = field(default_factory=Fee)
    network_fee: int = 0
    minimum: int = 1
    maximum: int | None = None
    a_day: int | None = None
    second_operator_above: int | None = None


@dataclass(frozen=True)
class Wish:
    """An amount to be withdrawn, and how its fees are taken."""

    currency: str
    amount: int
    mode: FeeMode


@dataclass(frozen=True)
class Price:
    """What leaves the balance, and what arrives."""

    debit: int
    receive: int


@dataclass
class Quote:
    """A price that is kept for a minute: every step of the clock is longer."""

    wish: Wish
    price: Price
    made_at: int
    quote_id: str = ""
    used: bool = False


@dataclass
class Withdrawal:
    """Money on its way out. `there`: the rail has the order; `watched`: the worker looks after it."""

    purse: str
    wish: Wish
    price: Price
    day: int
    status: str
    approvals_needed: int = 0
    approvals: tuple[str, ...] = ()
    there: bool = False
    watched: bool = True
    withdrawal_id: str = ""
    uses: list[Use] = field(default_factory=list[Use])


@dataclass
class Withdrawals:
    """All of a merchant's, in test and in live mode."""

    purses: dict[str, Purse]
    terms: dict[str, dict[str, Terms]]
    limits: Limits
    every: list[Withdrawal] = field(default_factory=list[Withdrawal])
    quotes: list[Quote] = field(default_factory=list[Quote])
    days: dict[tuple[str, str, int], int] = field(default_factory=dict[tuple[str, str, int], int])

    def price(self, purse: str, wish: Wish) -> Price:
        """What it costs, within the limits of an amount."""
        self.ensure_amount(purse, wish.currency, wish.amount)
        terms = self.terms[purse][wish.currency]
        fees = terms.fee.of(wish.amount) + terms.network_fee
        price = Price(wish.amount + fees, wish.amount) if wish.mode == "add" else Price(wish.amount, wish.amount - fees)
        if price.receive <= 0:
            raise RefusedError("amount_below_fees")
        return price

    def quote(self, wish: Wish, at: int) -> None:
        """Keep a price."""
        self.quotes.append(Quote(wish, self.price(SHOP, wish), at))

    def request(self, purse: str, wish: Wish, at: int) -> None:
        """Set aside what leaves the balance."""
        self._set_aside(purse, wish, self.price(purse, wish), at)

    def request_as_quoted(self, quote: Quote, at: int) -> None:
        """The same at a kept price, once."""
        if quote.used:
            raise RefusedError("quote_already_used")
        if at > quote.made_at:
            raise RefusedError("quote_expired")
        quote.used = True
        self._set_aside(SHOP, quote.wish, quote.price, at)

    def schedule(self, wish: Wish) -> None:
        """Let it be asked for again and again."""
        self.limits.require_standing("withdrawals", wish.currency)
        self.ensure_amount(SHOP, wish.currency, wish.amount)

    def cancel(self, one: Withdrawal) -> None:
        """The merchant takes back what was not sent."""
        _require(one, UNSENT)
        self._give_back(one, "canceled")

    def approve(self, one: Withdrawal, operator: str) -> None:
        """An operator lets it go, or is the first of two."""
        _require(one, {"pending_review"})
        if operator in one.approvals:
            raise RefusedError("invalid_state")
        above = self.terms[one.purse][one.wish.currency].second_operator_above
        if above is not None and self._of_a_day(one) > above:
            one.approvals_needed = 2
        one.approvals = (*one.approvals, operator)
        if len(one.approvals) == one.approvals_needed:
            one.status, one.watched = "approved", True

    def reject(self, one: Withdrawal) -> None:
        """An operator keeps it here."""
        _require(one, UNSENT)
        self._give_back(one, "failed")

    def send(self, one: Withdrawal) -> None:
        """It is about to leave: nobody can stop it any more."""
        _require(one, {"approved"})
        one.status = "processing"

    def complete(self, one: Withdrawal) -> None:
        """It has arrived."""
        _require(one, {"processing"})
        one.status, one.watched = "completed", False
        self.purses[one.purse][one.wish.currency].take(one.price.debit, "withdrawals")

    def fail(self, one: Withdrawal) -> None:
        """The rail did not send it, for sure."""
        _require(one, {"processing"})
        self._give_back(one, "failed")

    def record_return(self, one: Withdrawal) -> None:
        """It had arrived and was returned, without the fees."""
        _require(one, {"completed"})
        one.status = "failed"
        self._uncount(one)
        give_back(one.uses)
        self.purses[one.purse][one.wish.currency].credit(one.price.receive)

    def simulate(self, one: Withdrawal, outcome: str) -> None:
        """What the simulator makes of one in test mode, and what must come before."""
        if outcome in {"stick", "complete", "fail", "return"} and one.status in UNSENT:
            self.send(one)
        match outcome:
            case "approve":  # each is, from the beginning
                _require(one, {"approved"})
            case "reject":
                self.reject(one)
            case "process":
                self.send(one)
            case "stick":
                _require(one, {"processing"})
            case "complete":
                self.complete(one)
            case "fail":
                self.fail(one)
            case _:
                if one.status != "completed":
                    self.complete(one)
                self.record_return(one)

    def carry(self, one: Withdrawal, bank: Bank) -> None:
        """The worker hands it in, or asks what became of it."""
        if not one.watched:
            return
        if one.status == "approved":
            self.send(one)
            self._hand_in(one, bank)
        elif bank != "silent" and not one.there:
            self._hand_in(one, bank)
        elif bank == "pays":
            self.complete(one)
        elif bank == "bounces":
            self.fail(one)

    def _hand_in(self, one: Withdrawal, bank: Bank) -> None:
        if bank == "declines":
            self.fail(one)
        elif bank != "unheard":
            one.there = True

    def _set_aside(self, purse: str, wish: Wish, price: Price, at: int) -> None:
        balance = self.purses[purse][wish.currency]
        balance.hold(price.debit, "withdrawals")
        uses = self.limits.spend("withdrawals", wish.currency, price.debit)
        day = self.count(purse, wish.currency, wish.amount, at)
        needed = 0 if purse == SHOP else 1
        status = "pending_review" if needed else "approved"
        self.every.append(Withdrawal(purse, wish, price, day, status, needed, watched=not needed, uses=uses))

    def ensure_amount(self, purse: str, currency: str, minor: int) -> None:
        """The limits of one amount."""
        terms = self.terms[purse][currency]
        if minor < terms.minimum:
            raise RefusedError("amount_below_minimum")
        if terms.maximum is not None and minor > terms.maximum:
            raise RefusedError("amount_above_maximum")

    def count(self, purse: str, currency: str, minor: int, at: int) -> int:
        """Count an amount in its day, within the day's limit; which day it is."""
        terms, day = self.terms[purse][currency], at // DAY_S if purse == SHOP else 0
        today = (purse, currency, day)
        self.days[today] = self.days.get(today, 0) + minor
        if terms.a_day is not None and self.days[today] > terms.a_day:
            raise RefusedError("daily_limit_exceeded")
        return day

    def _give_back(self, one: Withdrawal, status: str) -> None:
        one.status, one.watched = status, False
        self._uncount(one)
        give_back(one.uses)
        self.purses[one.purse][one.wish.currency].release(one.price.debit, "withdrawals")

    def _of_a_day(self, one: Withdrawal) -> int:
        """All that is on its way or has left beside this one, and it: live mode is never older than a minute here."""
        same = (each for each in self.every if (each.purse, each.wish.currency) == (one.purse, one.wish.currency))
        return sum(each.wish.amount for each in same if each.status not in {"failed", "canceled"})

    def _uncount(self, one: Withdrawal) -> None:
        self.days[one.purse, one.wish.currency, one.day] -= one.wish.amount


def _require(one: Withdrawal, statuses: set[str]) -> None:
    if one.status not in statuses:
        raise RefusedError("invalid_state")
