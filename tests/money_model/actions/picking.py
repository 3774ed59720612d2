"""What all deeds share: a history, money to do them with, and a way to pick what they are done to."""

from typing import ClassVar, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine

from tests.money_model.harness import Harness
from tests.money_model.history import History, spelt
from tests.money_model.oracle.balances import DECIMALS, LIVE
from tests.money_model.oracle.books import Books
from tests.money_model.oracle.simulating import TELLING

CURRENCIES = st.sampled_from(sorted(DECIMALS))
TELLING_AMOUNTS = st.sampled_from([before * 10_000 + last for before in range(6) for last in TELLING])
AMOUNTS = st.integers(1, 100_000) | st.integers(1, 100_000) | TELLING_AMOUNTS
PARTS = st.none() | st.integers(1, 50_000)
"""Some amount that may fit or not; none: the usual one."""
PICK = st.integers(0, 2**12)
"""Which of those there are: the number is folded to their count."""
ANY = 8
"""One pick of so many is of all, whether or not the deed fits; and finds what the deed needs, or does not."""
T = TypeVar("T")


def mostly(pick: int) -> bool:
    """All but one of so many times."""
    return (pick + 1) % ANY != 0


class Actions(RuleBasedStateMachine):
    """One history of one merchant. Nothing that is drawn depends on what the service answers: it plays the same again."""

    harness: ClassVar[Harness]
    history: History

    @property
    def books(self) -> Books:
        """As they are now: a refusal brings other ones."""
        return self.history.books

    def one_of(self, fitting: list[T], every: list[T], pick: int) -> T | None:
        """Mostly one that fits, sometimes any; none where there is none."""
        some = fitting if fitting and mostly(pick) else every
        return some[pick // ANY % len(some)] if some else None

    def have(self, purse: str, currency: str, minor: int, pick: int) -> None:
        """Mostly see to it that so much is available, unless debts eat it."""
        if mostly(pick) and self.books.purses[purse][currency].available < minor:
            self.give(purse, currency, minor)

    def give(self, purse: str, currency: str, minor: int) -> None:
        """Put test money on a balance; in live mode an operator does."""
        balance = self.books.purses[purse][currency]
        if purse == LIVE:
            self.history.let(lambda: self.history.backstage.adjust(minor), lambda: balance.credit(minor), LIVE)
        else:
            body = {"currency": currency, "amount": spelt(minor, currency)}
            self.history.request("/test/balances/fund", body, lambda: balance.credit(minor), purse)
