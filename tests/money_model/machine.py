"""The machine: what may happen to a merchant's money, in any order; after every step the balances are those of the books."""

import sys

from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule

from tests.money_model.actions.agents import AgentActions
from tests.money_model.actions.picking import AMOUNTS, ANY, CURRENCIES, PICK
from tests.money_model.history import History
from tests.money_model.oracle.balances import SHOP
from tests.money_model.oracle.payments import Policy

CHECK_EVERY = 30
POLICIES = st.builds(
    Policy,
    st.sampled_from([50, 0, 500]),
    st.sampled_from(["credit", "refund_required"]),
    st.sampled_from(["refund_required", "accept"]),
)


class MoneyMachine(AgentActions):
    """One history of one merchant, of its agents, and of a partner with whom it exchanges balance payments."""

    def __init__(self) -> None:
        super().__init__()
        self.steps = 0

    @initialize(policy=POLICIES, currency=CURRENCIES, amount=AMOUNTS)
    def open_shop(self, policy: Policy, currency: str, amount: int) -> None:
        self.history = History(self.harness, policy)
        self.open(currency, amount, 1)
        self.open("EUR", 4_200, None)
        self.new_customer(ANY, "succeed", None)

    @rule(currency=CURRENCIES, amount=AMOUNTS)
    def fund(self, currency: str, amount: int) -> None:
        self.give(SHOP, currency, amount)

    @rule(seconds=st.sampled_from([5_000, 5_000, 100_000, 1_300_000]))
    def advance_clock(self, seconds: int) -> None:
        """No sum of these ends just before a link does, or a limit's day or month, or just before a midnight."""
        self.history.request("/test/clock/advance", {"seconds": seconds}, lambda: self.books.advance(seconds))

    @rule(pick=PICK)
    def replay(self, pick: int) -> None:
        self.history.replay(self.history.sent[pick % len(self.history.sent)])

    @rule(pick=PICK)
    def reuse_key(self, pick: int) -> None:
        self.history.reuse(self.history.sent[pick % len(self.history.sent)])

    def teardown(self) -> None:
        """What a history that failed has broken is nothing new when it is played again, to be made smaller."""
        if sys.exc_info()[0] is not None:
            self.harness.overlook_broken()

    @invariant()
    def service_and_books_agree(self) -> None:
        self.steps += 1
        if self.steps % CHECK_EVERY == 0:
            self.history.same_everything()
            assert not self.harness.broken_invariants(self.history.before)
        else:
            self.history.same_balances()
