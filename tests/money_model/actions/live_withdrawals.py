"""Money out of live mode: operators review, the worker hands in and asks, and the bank does one thing or another."""

from hypothesis import strategies as st
from hypothesis.stateful import rule

from tests.money_model.actions.picking import PICK, mostly
from tests.money_model.actions.withdrawals import FEE_MODES, WithdrawalActions
from tests.money_model.oracle.balances import LIVE
from tests.money_model.oracle.withdrawals import UNSENT, Bank, Wish, Withdrawal

EUROS = st.builds(Wish, st.just("EUR"), st.integers(1, 80_000), FEE_MODES)
OPERATORS = ("olga", "otto")
BANKS = st.sampled_from(["pays", "pays", "takes", "bounces", "declines", "unheard", "unanswered", "silent"])


class LiveWithdrawalActions(WithdrawalActions):
    """Withdrawals that operators must approve before they are sent."""

    @rule(wish=EUROS, pick=PICK)
    def withdraw_live(self, wish: Wish, pick: int) -> None:
        self._withdraw_live(wish, pick)

    @rule(wish=EUROS, pick=PICK, banks=st.tuples(BANKS, BANKS))
    def withdraw_live_to_the_end(self, wish: Wish, pick: int, banks: tuple[Bank, Bank]) -> None:
        """Approved, sent, and looked after once."""
        if self._withdraw_live(wish, pick):
            one = self.books.withdrawals.every[-1]
            for operator in OPERATORS:
                if one.status == "pending_review":
                    self._approve(one, operator)
            for bank in banks:
                self._carry(one, bank)

    @rule(pick=PICK)
    def cancel_live_withdrawal(self, pick: int) -> None:
        one = self.withdrawal(LIVE, UNSENT, pick)
        if one is not None:
            self.take_back(one)

    @rule(wish=EUROS, pick=PICK, operator=st.sampled_from(OPERATORS))
    def approve(self, wish: Wish, pick: int, operator: str) -> None:
        self._prepare_live(wish, pick, {"pending_review"})
        one = self.withdrawal(LIVE, {"pending_review"}, pick)
        if one is not None:
            self._approve(one, operator)

    @rule(wish=EUROS, pick=PICK)
    def reject(self, wish: Wish, pick: int) -> None:
        self._prepare_live(wish, pick, UNSENT)
        one = self.withdrawal(LIVE, UNSENT, pick)
        if one is not None:
            backstage, books = self.history.backstage, self.books
            self.history.let(lambda: backstage.reject(one.withdrawal_id), lambda: books.withdrawals.reject(one), LIVE)

    @rule(pick=PICK, bank=BANKS)
    def carry_withdrawal(self, pick: int, bank: Bank) -> None:
        one = self.withdrawal(LIVE, {"approved", "processing"}, pick)
        if one is not None:
            self._carry(one, bank)

    @rule(pick=PICK)
    def return_withdrawal(self, pick: int) -> None:
        one = self.withdrawal(LIVE, {"completed"}, pick)
        if one is not None:
            backstage, books = self.history.backstage, self.books
            self.history.let(
                lambda: backstage.record_return(one.withdrawal_id), lambda: books.withdrawals.record_return(one), LIVE
            )

    @rule(minor=st.integers(1, 50_000))
    def take_live(self, minor: int) -> None:
        """An operator takes money, if it is there."""
        balance = self.books.purses[LIVE]["EUR"]
        self.history.let(lambda: self.history.backstage.adjust(-minor), lambda: balance.spend(minor), LIVE)

    def _withdraw_live(self, wish: Wish, pick: int) -> bool:
        self.have(LIVE, "EUR", wish.amount + 100, pick)
        return self.request_withdrawal(LIVE, wish)

    def _prepare_live(self, wish: Wish, pick: int, statuses: set[str]) -> None:
        """Mostly see to it that there is one in such a state."""
        every = self.books.withdrawals.every
        if mostly(pick) and not any(item.purse == LIVE and item.status in statuses for item in every):
            self._withdraw_live(wish, pick)

    def _approve(self, one: Withdrawal, operator: str) -> None:
        backstage, books = self.history.backstage, self.books
        self.history.let(
            lambda: backstage.approve(one.withdrawal_id, operator), lambda: books.withdrawals.approve(one, operator), LIVE
        )

    def _carry(self, one: Withdrawal, bank: Bank) -> None:
        backstage, books = self.history.backstage, self.books
        self.history.let(lambda: backstage.carry(one.withdrawal_id, bank), lambda: books.withdrawals.carry(one, bank), LIVE)
