"""Money across: conversions at the price of now or by a quote, and rules that the worker follows."""

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import rule

from tests.money_model.actions.payments import PaymentActions
from tests.money_model.actions.picking import AMOUNTS, PICK, mostly
from tests.money_model.history import spelt
from tests.money_model.oracle.balances import SHOP
from tests.money_model.oracle.conversions import Pair, Quote, Rule, Trigger

PAIRS = st.sampled_from([("EUR", "JPY"), ("JPY", "EUR"), ("EUR", "JPY"), ("JPY", "EUR"), ("EUR", "BTC")])
TRIGGERS = st.sampled_from(["on_payment", "on_threshold"])
PERCENTS = st.sampled_from([100, 50, 33, 1])


class ConversionActions(PaymentActions):
    """Conversions between the two currencies that have a price; rules convert what customers bring."""

    @rule(pair=PAIRS, amount=st.integers(1, 40_000), at_least=st.none() | st.integers(1, 60_000), pick=PICK)
    def convert(self, pair: Pair, amount: int, at_least: int | None, pick: int) -> None:
        """Mostly whatever it brings."""
        least = 0 if mostly(pick) else at_least or 0
        self.have(SHOP, pair[0], amount, pick)
        body = pair_of(pair) | {"amount": spelt(amount, pair[0])}
        body |= {"min_to_amount": spelt(least, pair[1])} if least else {}
        books = self.books
        self._learn_conversion(
            self.history.request("/conversions", body, lambda: books.conversions.convert(pair, amount, least))
        )

    @rule(pair=PAIRS, amount=st.integers(1, 40_000), requests=st.sampled_from(["given", "got"]), pick=PICK)
    def convert_as_quoted(self, pair: Pair, amount: int, requests: str, pick: int) -> None:
        """By a new quote, or by one that may be used, or too old."""
        if pick % 2:
            self._quote_conversion(pair, amount, requests)
        quotes, clock = self.books.conversions.quotes, self.books.clock
        quote = self.one_of([quote for quote in quotes if not quote.used and quote.made_at == clock], quotes, pick)
        if quote is not None:
            self.have(SHOP, quote.exchange.pair[0], quote.exchange.given, pick)
            self._convert_as_quoted(quote)

    @rule(pair=PAIRS, trigger=TRIGGERS, threshold=AMOUNTS, percent=PERCENTS)
    def make_rule(self, pair: Pair, trigger: Trigger, threshold: int, percent: int) -> None:
        self._make_rule(pair, trigger, threshold, percent)

    @rule()
    def apply_rules(self) -> None:
        """The worker does what they say."""
        self._follow_all()

    @rule(pair=PAIRS, trigger=TRIGGERS, threshold=st.integers(1, 5_000), percent=PERCENTS, pick=PICK)
    def be_paid_and_follow(self, pair: Pair, trigger: Trigger, threshold: int, percent: int, pick: int) -> None:
        """What a customer brings is converted once, however often the worker looks."""
        if mostly(pick) and not self.books.conversions.rules:
            self._make_rule(pair, trigger, threshold, percent)
        self.new_customer(pick, "succeed", None)
        self._follow_all()
        self._follow_all()

    @rule(pick=PICK)
    def end_rule(self, pick: int) -> None:
        rules = self.books.conversions.rules
        one = self.one_of(rules, rules, pick)
        if one is not None:
            ended = self.history.counter.delete(f"/conversion-rules/{one.rule_id}", self.history.credentials[SHOP])
            assert ended.status == 200, ended.raw
            rules.remove(one)

    def _make_rule(self, pair: Pair, trigger: Trigger, threshold: int, percent: int) -> None:
        body = pair_of(pair) | {"trigger": trigger, "percent": percent}
        body |= {"threshold": spelt(threshold, pair[0])} if trigger == "on_threshold" else {}
        books = self.books
        made = self.history.request(
            "/conversion-rules", body, lambda: books.conversions.make_rule(pair, trigger, threshold, percent)
        )
        if made is not None:
            books.conversions.rules[-1].rule_id = made["id"]

    def _follow_all(self) -> None:
        for one in self.books.conversions.rules:
            self._follow(one)

    def _quote_conversion(self, pair: Pair, amount: int, requests: str) -> None:
        books = self.books
        name, code = ("amount", pair[0]) if requests == "given" else ("to_amount", pair[1])
        body = pair_of(pair) | {name: spelt(amount, code)}
        shown = self.history.request(
            "/conversion-quotes", body, lambda: books.conversions.quote(pair, books.clock, **{requests: amount})
        )
        if shown is not None:
            quote = books.conversions.quotes[-1]
            quote.quote_id = shown["id"]
            self.history.same_exchange(quote.exchange, shown)

    def _convert_as_quoted(self, quote: Quote) -> None:
        books = self.books
        body = {"quote_id": quote.quote_id}
        self._learn_conversion(
            self.history.request("/conversions", body, lambda: books.conversions.convert_as_quoted(quote, books.clock))
        )

    def _learn_conversion(self, made: dict[str, Any] | None) -> None:
        if made is not None:
            done = self.books.conversions.every[-1]
            done.conversion_id = made["id"]
            self.history.same_exchange(done.exchange, made)

    def _follow(self, one: Rule) -> None:
        done, found = self.books.conversions.follow(one), self.history.backstage.follow(one.rule_id)
        assert (found is None) == (done is None), f"the rule converted {found}, in the books {done}"
        if found is not None and done is not None:
            done.conversion_id = str(found.id)
            amounts = (found.exchange.from_amount_minor, found.exchange.fee_minor, found.exchange.to_amount_minor)
            assert amounts == (done.exchange.given, done.exchange.fee, done.exchange.got)


def pair_of(pair: Pair) -> dict[str, Any]:
    """The currencies of a request."""
    return {"from_currency": pair[0], "to_currency": pair[1]}
