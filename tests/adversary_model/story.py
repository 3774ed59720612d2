"""One history: a merchant, its customers and its partner, and all that was seen, paid, refunded and disputed so far."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fractions import Fraction
from typing import NamedTuple, TypeVar
from uuid import UUID

from tests.adversary_model.quay import NAME
from tests.adversary_model.yard import Yard
from tests.invariants import last_id
from tollhouse.accounts.approvals.model import OperatorRefusedError
from tollhouse.accounts.environments import payment_settings
from tollhouse.accounts.environments.payment_settings import PaymentSettings
from tollhouse.http.services import Work
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.rails.provider import Observation
from tollhouse.payments.refunds import reversals

T = TypeVar("T")
IN_A_BLOCK_WITHIN = timedelta(hours=2)
"""Money on a network counts as seen at its first sight only if it is in a block so soon; else at its first block."""


@dataclass
class Attempt:
    """An attempt to pay. `fixed` is what one minor unit brings in euro cents, until `fixed_until`."""

    payment_id: UUID
    reference: str
    currency: str
    amount_minor: int
    fixed: Fraction | None
    fixed_until: datetime | None
    in_time_minor: int = 0
    """How much arrived in time for the fixed rate, of what was asked for."""


@dataclass
class Transfer:
    """Money of a customer on its way, or there."""

    attempt: Attempt
    ref: str
    amount_minor: int
    seen_at: datetime
    block_at: datetime | None = None
    is_there: bool = False
    gone: list[str] = field(default_factory=list[str])
    """The blocks that dropped it and are not back."""
    disputed_minor: int = 0
    disputes: dict[str, int] = field(default_factory=dict[str, int])
    """Open ones, with their amounts."""

    @property
    def judged_at(self) -> datetime:
        """The moment that counts."""
        if self.block_at is None:
            raise AssertionError("it is in no block")
        return self.seen_at if self.block_at - self.seen_at <= IN_A_BLOCK_WITHIN else self.block_at


@dataclass
class Returned:
    """A refund or a withdrawal that was asked for."""

    id: UUID
    currency: str
    amount_minor: int
    payment_id: UUID | None = None
    is_paid: bool = False
    is_sent: bool = False


class Key(NamedTuple):
    """An API key of an agent."""

    id: UUID
    secret: str


class Story:
    """What happened, and who may do what next."""

    def __init__(self, yard: Yard, settings: PaymentSettings) -> None:
        self.yard = yard
        self.before = last_id()
        yard.market.open()
        yard.quay.coins.clear()
        self.shop, self.partner = yard.partners()
        self.env = self.shop.live
        self.settings = settings
        self.attempts: list[Attempt] = []
        self.transfers: list[Transfer] = []
        self.refunds: list[Returned] = []
        self.refund_ids: set[UUID] = set()
        self.withdrawals: list[Returned] = []
        self.quotes: list[UUID] = []
        self.reserved: list[UUID] = []
        self.ordered: list[UUID] = []
        self.keys: dict[str, Key] = {}
        self.proposed: list[tuple[UUID, str]] = []
        """Proposals that may wait, and the keys that made them."""
        self.approved: set[UUID] = set()
        self.wrong: list[str] = []
        """What an agent gained at once."""
        self.suspended: list[tuple[datetime, datetime | None]] = []
        yard.run(yard.services.db.transact(lambda tx: payment_settings.save(tx, self.env, settings, yard.market.now)))

    @property
    def now(self) -> datetime:
        """The present moment of the history."""
        return self.yard.market.now

    @property
    def is_suspended(self) -> bool:
        """Whether the merchant is suspended now."""
        return bool(self.suspended) and self.suspended[-1][1] is None

    def attempt(self, action: Callable[[Work], Awaitable[T]], at: datetime | None = None) -> T | str:
        """Do it: the code of its refusal if it is refused."""
        try:
            return self.yard.do(action, at)
        except ApiError as refused:
            return refused.code
        except OperatorRefusedError as refused:
            return f"refused: {refused.message}"

    def observe(self, observation: Observation) -> str:
        """The rail reports."""
        try:
            found = self.yard.run(reversals.observe(self.yard.services, NAME, "live", observation, self.now))
        except ApiError as refused:
            return refused.code
        return "no change" if found is None else found.status

    def available(self, currency: str) -> int:
        """What the merchant can spend."""
        rows = self.yard.rows(
            "SELECT balance FROM ledger_accounts WHERE merchant_id = $1 AND mode = 'live' AND currency = $2"
            " AND code = 'available'",
            self.shop.merchant_id,
            currency,
        )
        return rows[0]["balance"] if rows else 0

    def refunded_minor(self, payment_id: UUID) -> int:
        """What refunds of this payment paid out, or are about to."""
        return sum(refund.amount_minor for refund in self.refunds if refund.payment_id == payment_id)
