"""Limits in the books: what a key or an application may spend, and has spent in a sliding day and month."""

from dataclasses import dataclass, field
from typing import Literal

from tests.money_model.oracle.balances import RefusedError

HOURS_24_S, DAYS_30_S = 86_400, 2_592_000
Kind = Literal["withdrawals", "refunds", "balance_payments", "conversions", "fulfillments"]
KINDS: tuple[Kind, ...] = ("withdrawals", "refunds", "balance_payments", "conversions", "fulfillments")


@dataclass(frozen=True)
class Bound:
    """What may be spent of one kind in one currency: at once, in 24 hours, in 30 days. None is no limit."""

    kind: Kind
    currency: str
    once: int | None
    day: int | None
    month: int | None


@dataclass(frozen=True)
class Terms:
    """The limits of a credential. `recipients`: whether withdrawals go to saved ones alone, and ours is one of them."""

    bounds: tuple[Bound, ...] = ()
    recipients: Literal["any", "ours", "others"] = "any"
    expires_at: int | None = None

    @property
    def are_none(self) -> bool:
        """Whether everything is allowed."""
        return not self.bounds and self.recipients == "any" and self.expires_at is None


@dataclass
class Credential:
    """A key, or one of an application's connections. `spender` is who is counted."""

    spender: str
    terms: Terms = field(default_factory=Terms)
    proposals_only: bool = False
    is_alive: bool = True


@dataclass
class Use:
    """What was spent of one kind, and when; `back` of it was given back."""

    spender: str
    kind: Kind
    currency: str
    amount: int
    at: int
    back: int = 0


@dataclass
class Limits:
    """Of all keys and connections of a merchant. `by` is who asks now; None is the merchant itself, which has no limits."""

    clock: int
    credentials: dict[str, Credential] = field(default_factory=dict[str, Credential])
    ended: list[Credential] = field(default_factory=list[Credential])
    uses: list[Use] = field(default_factory=list[Use])
    by: str | None = None

    def admit(self, *, alone: bool) -> None:
        """Let in a credential that still is one. `alone`: it wants to spend, and not to propose."""
        if self.by is None:
            return
        asking = self.credentials[self.by]
        if not asking.is_alive:
            raise RefusedError("invalid_token")
        if alone and asking.proposals_only:
            raise RefusedError("proposal_required")

    def replace(self, name: str, new: Credential) -> None:
        """A new connection, perhaps in the place of one that has ended: it has no limits, and those of the old one stay."""
        if name in self.credentials:
            self.ended.append(self.credentials[name])
        self.credentials[name] = new

    def require_unexpired(self, kind: Kind, currency: str) -> None:
        """Refuse to move what was counted before, once the time of the limits is over."""
        if self.by is not None and self._is_expired(self.credentials[self.by].terms):
            raise _beyond(kind, currency, "expired")

    def require_standing(self, kind: Kind, currency: str) -> None:
        """Refuse to set up what runs later, uncounted, where limits concern it at all."""
        terms = Terms() if self.by is None else self.credentials[self.by].terms
        bound_to = kind == "withdrawals" and terms.recipients != "any"
        if bound_to or terms.expires_at is not None or any(bound.kind == kind for bound in terms.bounds):
            raise _beyond(kind, currency, "standing_order")

    def spend(self, kind: Kind, currency: str, amount: int, *, to_ours: bool = True) -> list[Use]:
        """Count an amount towards the limits of who asks, or refuse it. `to_ours`: to the account of our recipient."""
        if self.by is None or not self._is_counted(asking := self.credentials[self.by]):
            return []
        terms = asking.terms
        bound = next((one for one in terms.bounds if (one.kind, one.currency) == (kind, currency)), None)
        if self._is_expired(terms):
            raise _beyond(kind, currency, "expired")
        if kind == "withdrawals" and (terms.recipients == "others" or (terms.recipients == "ours" and not to_ours)):
            raise _beyond(kind, currency, "recipient")
        if bound is None and any(one.kind == kind for one in terms.bounds):
            raise _beyond(kind, currency, "currency")
        if bound is not None:
            for period, most, left in self.left(asking, bound):
                if amount > left:
                    resets = period != "transaction" and amount <= most
                    raise _beyond(kind, currency, "amount", period, most, max(left, 0), resets=resets)
        self.uses.append(Use(asking.spender, kind, currency, amount, self.clock))
        return [self.uses[-1]]

    def left(self, asking: Credential, bound: Bound) -> list[tuple[str, int, int]]:
        """What each of the three limits is, and leaves now: less than nothing where a limit was lowered."""
        spent = {
            span: sum(
                use.amount - use.back
                for use in self.uses
                if (use.spender, use.kind, use.currency) == (asking.spender, bound.kind, bound.currency)
                and use.at > self.clock - span
            )
            for span in (HOURS_24_S, DAYS_30_S)
        }
        every = (
            ("transaction", bound.once, 0),
            ("day", bound.day, spent[HOURS_24_S]),
            ("month", bound.month, spent[DAYS_30_S]),
        )
        return [(period, most, most - used) for period, most, used in every if most is not None]

    def _is_counted(self, asking: Credential) -> bool:
        """A connection without limits counts, too, where another one of its application has some, or had when it ended."""
        every = [*self.credentials.values(), *self.ended]
        return any(one.spender == asking.spender and not one.terms.are_none for one in every)

    def _is_expired(self, terms: Terms) -> bool:
        return terms.expires_at is not None and terms.expires_at <= self.clock


def give_back(uses: list[Use], minor: int | None = None) -> None:
    """So much of what was counted is not spent any more: all of it, left to itself."""
    for use in uses:
        use.back = use.amount if minor is None else use.back + minor


def _beyond(
    kind: Kind,
    currency: str,
    reason: str,
    period: str = "transaction",
    most: int = 0,
    left: int = 0,
    *,
    resets: bool = False,
) -> RefusedError:
    """`resets`: the same amount fits later."""
    facts = {"kind": kind, "currency": currency, "reason": reason, "period": period, "resets": resets}
    return RefusedError("connection_limit_exceeded", {**facts, "limit_minor": most, "remaining_minor": left})
