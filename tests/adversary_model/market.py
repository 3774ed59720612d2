"""Prices that move, and the one clock of the histories: it only goes forward, and no history waits for it."""

from collections.abc import Callable
from datetime import datetime, timedelta
from fractions import Fraction
from typing import NamedTuple

from tests.running import CATALOGUE
from tollhouse.kernel import clock

FIRST = {"BTC": Fraction(2, 100_000), "USD": Fraction(11, 10)}
"""How much of it one euro buys, at the start of each history."""
PLACES = 12
FACTORS = (Fraction(1, 2), Fraction(9, 10), Fraction(99, 100), Fraction(101, 100), Fraction(11, 10), Fraction(2))
SPANS = (
    timedelta(seconds=20),
    timedelta(minutes=5),
    timedelta(minutes=20),
    timedelta(minutes=59),
    timedelta(hours=3),
    timedelta(days=2),
    timedelta(days=10),
)


class Change(NamedTuple):
    """Prices from a moment on."""

    at: datetime
    per_euro: dict[str, Fraction]


class Market:
    """Every price is published as it changes, and again whenever time passes: what the service has is the true price."""

    def __init__(self, publish: Callable[[dict[str, str], datetime], None]) -> None:
        self.now = clock.now()
        self._publish = publish
        self._changes: list[Change] = []

    def open(self) -> None:
        """The prices of a new history, on a day of its own."""
        self.now += timedelta(days=1)
        self._changes = []
        self._set(dict(FIRST))

    def tick(self) -> None:
        """Nothing happens at the same moment."""
        self.now += timedelta(milliseconds=10)

    def wait(self, span: timedelta) -> None:
        """Time passes, and the prices are the same."""
        self.now += span
        self._set(self._changes[-1].per_euro)

    def move(self, code: str, factor: Fraction) -> None:
        """A price changes by this factor, from now on."""
        per_euro = dict(self._changes[-1].per_euro)
        least, most = FIRST[code] / 4, FIRST[code] * 4
        per_euro[code] = min(max(per_euro[code] * factor, least), most)
        self._set(per_euro)

    def rate(self, given: str, got: str, at: datetime) -> Fraction:
        """Minor units of one currency for one of another, at the price of that moment."""
        per_euro = {"EUR": Fraction(1)} | next(change.per_euro for change in reversed(self._changes) if change.at <= at)
        scale = Fraction(10) ** (CATALOGUE.currencies[got].decimals - CATALOGUE.currencies[given].decimals)
        return per_euro[got] / per_euro[given] * scale

    def _set(self, per_euro: dict[str, Fraction]) -> None:
        texts = {code: f"{float(price):.{PLACES}f}" for code, price in per_euro.items()}
        self._changes.append(Change(self.now, {code: Fraction(text) for code, text in texts.items()}))
        self._publish(texts, self.now)
        self.tick()
