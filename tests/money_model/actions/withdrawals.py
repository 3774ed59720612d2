"""Money out: withdrawals of test mode, at the price of now or a kept one; the simulator plays operator and bank."""

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import rule

from tests.money_model.actions.picking import AMOUNTS, CURRENCIES, PICK, Actions
from tests.money_model.harness import METHOD
from tests.money_model.history import spelt
from tests.money_model.oracle.balances import SHOP
from tests.money_model.oracle.withdrawals import UNSENT, Quote, Wish, Withdrawal

RECEIVER = "NL91ABNA0417164300"
FEE_MODES = st.sampled_from(["deduct", "add"])
WISHES = st.builds(Wish, CURRENCIES, AMOUNTS, FEE_MODES)
OUTCOMES = ["complete", "complete", "fail", "return", "return", "stick", "process", "reject", "approve"]
UNENDED = UNSENT | {"processing"}
FITTING = {"complete": UNENDED, "fail": UNENDED, "stick": UNENDED, "return": UNENDED | {"completed"}}
"""In which states what can happen; else only to what was not sent yet."""


class WithdrawalActions(Actions):
    """Withdrawals of test mode."""

    @rule(wish=WISHES, pick=PICK)
    def withdraw(self, wish: Wish, pick: int) -> None:
        self._withdraw(wish, pick)

    @rule(wish=WISHES, pick=PICK, outcome=st.sampled_from(OUTCOMES))
    def withdraw_to_the_end(self, wish: Wish, pick: int, outcome: str) -> None:
        if self._withdraw(wish, pick):
            self._simulate_withdrawal(self.books.withdrawals.every[-1], outcome)

    @rule(wish=WISHES, pick=PICK)
    def withdraw_as_quoted(self, wish: Wish, pick: int) -> None:
        """By a new quote, or by one that may be used, or too old."""
        if pick % 2:
            self._quote_withdrawal(wish)
        quotes, clock = self.books.withdrawals.quotes, self.books.clock
        quote = self.one_of([quote for quote in quotes if not quote.used and quote.made_at == clock], quotes, pick)
        if quote is not None:
            self.have(SHOP, quote.wish.currency, quote.price.debit, pick)
            self._withdraw_as_quoted(quote)

    @rule(pick=PICK)
    def cancel_withdrawal(self, pick: int) -> None:
        one = self.withdrawal(SHOP, UNSENT, pick)
        if one is not None:
            self.take_back(one)

    @rule(pick=PICK, outcome=st.sampled_from(OUTCOMES))
    def end_withdrawal(self, pick: int, outcome: str) -> None:
        one = self.withdrawal(SHOP, FITTING.get(outcome, UNSENT), pick)
        if one is not None:
            self._simulate_withdrawal(one, outcome)

    def withdrawal(self, purse: str, statuses: set[str], pick: int) -> Withdrawal | None:
        """One of test or of live mode."""
        mine = [withdrawal for withdrawal in self.books.withdrawals.every if withdrawal.purse == purse]
        return self.one_of([item for item in mine if item.status in statuses], mine, pick)

    def request_withdrawal(self, purse: str, wish: Wish) -> bool:
        """Ask for a withdrawal at the price of now; whether there is one then."""
        books = self.books
        body = {"network_fee_mode": wish.mode, **body_of(purse, wish)}
        made = self.history.request("/withdrawals", body, lambda: books.withdrawals.request(purse, wish, books.clock), purse)
        return self._learn_withdrawal(made)

    def take_back(self, one: Withdrawal) -> None:
        """The merchant cancels it."""
        path = f"/withdrawals/{one.withdrawal_id}/cancel"
        shown = self.history.request(path, {}, lambda: self.books.withdrawals.cancel(one), one.purse)
        if shown is not None:
            self.history.same_withdrawal(one, shown)

    def _withdraw(self, wish: Wish, pick: int) -> bool:
        self.have(SHOP, wish.currency, wish.amount, pick)
        return self.request_withdrawal(SHOP, wish)

    def _quote_withdrawal(self, wish: Wish) -> None:
        books = self.books
        body = {"method_id": METHOD[SHOP][wish.currency], "amount": spelt(wish.amount, wish.currency)}
        body["network_fee_mode"] = wish.mode
        shown = self.history.request("/withdrawal-quotes", body, lambda: books.withdrawals.quote(wish, books.clock))
        if shown is not None:
            quote = books.withdrawals.quotes[-1]
            quote.quote_id = shown["id"]
            assert (shown["debit_minor"], shown["receive_minor"]) == (quote.price.debit, quote.price.receive)

    def _withdraw_as_quoted(self, quote: Quote) -> None:
        books = self.books
        body = {"quote_id": quote.quote_id, **body_of(SHOP, quote.wish)}
        made = self.history.request("/withdrawals", body, lambda: books.withdrawals.request_as_quoted(quote, books.clock))
        self._learn_withdrawal(made)

    def _learn_withdrawal(self, made: dict[str, Any] | None) -> bool:
        if made is None:
            return False
        one = self.books.withdrawals.every[-1]
        one.withdrawal_id = made["id"]
        self.history.same_withdrawal(one, made)
        return True

    def _simulate_withdrawal(self, one: Withdrawal, outcome: str) -> None:
        path = f"/test/withdrawals/{one.withdrawal_id}/simulate"
        shown = self.history.request(path, {"outcome": outcome}, lambda: self.books.withdrawals.simulate(one, outcome))
        if shown is not None:
            self.history.same_withdrawal(one, shown)


def body_of(purse: str, wish: Wish) -> dict[str, Any]:
    """A request for a withdrawal, without its price."""
    return {
        "method_id": METHOD[purse][wish.currency],
        "amount": spelt(wish.amount, wish.currency),
        "receiver": RECEIVER,
        "provider_fields": {"account_holder_name": "Nina"},
    }
