"""Conversions in the books: what is got for what, rounded against who converts, and rules that convert by themselves."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from tests.money_model.oracle.balances import DECIMALS, Fee, Purse, RefusedError
from tests.money_model.oracle.limits import Limits

PER_EURO = {"EUR": Fraction(1), "JPY": Fraction("162.35")}
"""What one euro buys. There is no price of what cannot be converted."""

RATE_SCALE = 10**18
Trigger = Literal["on_payment", "on_threshold"]
Pair = tuple[str, str]


@dataclass(frozen=True)
class Terms:
    """On what terms one currency is given for another."""

    fee: Fee = field(default_factory=Fee)
    minimum: int = 1
    maximum: int | None = None


@dataclass(frozen=True)
class Exchange:
    """What is given, what of it is the fee, and what is got."""

    pair: Pair
    given: int
    fee: int
    got: int


@dataclass
class Quote:
    """An exchange that is kept to for half a minute: every step of the clock is longer."""

    exchange: Exchange
    made_at: int
    quote_id: str = ""
    used: bool = False


@dataclass
class Conversion:
    """An exchange that was made."""

    exchange: Exchange
    conversion_id: str = ""


@dataclass
class Rule:
    """What is converted by itself: a share of what payments bring, or of the balance when it has grown to a threshold.

    It counts from when it was made: `seen_paid` and `seen_gains` are how far it has looked, `waiting` was too little.
    """

    pair: Pair
    trigger: Trigger
    threshold: int
    percent: int
    seen_paid: int
    seen_gains: int
    waiting: int = 0
    rule_id: str = ""


@dataclass
class Conversions:
    """All of a merchant's."""

    purse: Purse
    terms: dict[Pair, Terms]
    limits: Limits
    every: list[Conversion] = field(default_factory=list[Conversion])
    quotes: list[Quote] = field(default_factory=list[Quote])
    rules: list[Rule] = field(default_factory=list[Rule])

    def quote(self, pair: Pair, at: int, *, given: int = 0, got: int = 0) -> None:
        """Keep to what is got for an amount, or to the least that must be given for one."""
        _require_prices(pair)
        exchange = self._least_for(pair, got) if got else self._giving(pair, given)
        self._require_fitting(exchange)
        self.quotes.append(Quote(exchange, at))

    def convert(self, pair: Pair, given: int, at_least: int) -> None:
        """Convert at the price of now."""
        _require_prices(pair)
        exchange = self._giving(pair, given)
        self._require_fitting(exchange)
        if exchange.got < at_least:
            raise RefusedError("price_changed")
        self._exchange(exchange)

    def convert_as_quoted(self, quote: Quote, at: int) -> None:
        """The same by a quote, once."""
        if quote.used:
            raise RefusedError("quote_already_used")
        if at > quote.made_at:
            raise RefusedError("quote_expired")
        quote.used = True
        self._exchange(quote.exchange)

    def make_rule(self, pair: Pair, trigger: Trigger, threshold: int, percent: int) -> None:
        """One for a currency, and none that leads back to where another one comes from."""
        _require_prices(pair)
        if any(pair[0] in rule.pair for rule in self.rules):
            raise RefusedError("conversion_rule_conflict")
        self.limits.require_standing("conversions", pair[0])
        balance = self.purse[pair[0]]
        self.rules.append(Rule(pair, trigger, threshold, percent, balance.paid, balance.gains))

    def follow(self, rule: Rule) -> Conversion | None:
        """Do what it says of everything that came since it last looked."""
        balance, terms = self.purse[rule.pair[0]], self.terms[rule.pair]
        grown = balance.gains > rule.seen_gains
        rule.waiting = max(0, rule.waiting + balance.paid - rule.seen_paid) if rule.trigger == "on_payment" else 0
        rule.seen_paid, rule.seen_gains = balance.paid, balance.gains
        if rule.trigger == "on_payment":
            wanted = min(rule.waiting * rule.percent // 100, balance.available)
        else:
            wanted = balance.available * rule.percent // 100 if grown and balance.available >= rule.threshold else 0
        exchange = self._giving(rule.pair, min(wanted, terms.maximum or wanted))
        if wanted < terms.minimum or not exchange.got:
            return None
        cut = exchange.given < wanted
        rule.waiting = max(0, rule.waiting - exchange.given * 100 // rule.percent) if cut else 0
        return self._exchange(exchange)

    def _exchange(self, exchange: Exchange) -> Conversion:
        given, got = exchange.pair
        self.purse[given].spend(exchange.given)
        self.limits.spend("conversions", given, exchange.given)
        self.purse[got].credit(exchange.got, converted=True)
        self.every.append(Conversion(exchange))
        return self.every[-1]

    def _giving(self, pair: Pair, given: int) -> Exchange:
        """The rate is cut to its eighteen decimals, what is got to whole minor units."""
        fee = self.terms[pair].fee.of(given)
        rate = Fraction(PER_EURO[pair[1]] / PER_EURO[pair[0]] * RATE_SCALE // 1, RATE_SCALE)
        scale = Fraction(10) ** (DECIMALS[pair[1]] - DECIMALS[pair[0]])
        return Exchange(pair, given, fee, int((given - fee) * rate * scale))

    def _least_for(self, pair: Pair, got: int) -> Exchange:
        """Found by halving: more given never gets less."""
        low, high = 0, 1
        while self._giving(pair, high).got < got:
            low, high = high, high * 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._giving(pair, middle).got >= got else (middle, high)
        least = self._giving(pair, high)
        return Exchange(pair, least.given, least.fee, got)

    def _require_fitting(self, exchange: Exchange) -> None:
        terms = self.terms[exchange.pair]
        if exchange.given < terms.minimum or not exchange.got:
            raise RefusedError("amount_below_minimum")
        if terms.maximum is not None and exchange.given > terms.maximum:
            raise RefusedError("amount_above_maximum")


def _require_prices(pair: Pair) -> None:
    if not set(pair) <= set(PER_EURO):
        raise RefusedError("currency_not_supported")
