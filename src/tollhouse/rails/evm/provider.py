"""The rail of an EVM network: customers send the coin of the network or a token to an address of their payment.

The worker derives addresses and follows the chain (`chains`); this part talks to nobody.
"""

from datetime import datetime, timedelta
from typing import Any, Literal, Protocol
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel import clock
from tollhouse.kernel.ids import Mode
from tollhouse.kernel.money import format_minor
from tollhouse.rails.evm.units import COIN_DECIMALS, is_address, to_units
from tollhouse.rails.provider import (
    AT_ONCE,
    Attempt,
    Health,
    Instructions,
    PayoutOrder,
    PayoutState,
    RailError,
    RefundOrder,
    RefundState,
    Submission,
)
from tollhouse.rails.settings import EvmSettings

WORDS = (
    "Send exactly this amount to the address, on this network only. What is sent on another network, or as another token, "
    "cannot be credited."
)
ZERO = "0x" + "0" * 40
HEALTH_EXPIRES_AFTER = timedelta(seconds=60)
"""A rail whose worker has not reported for this long is down."""


class Asset(Struct, frozen=True):
    """What the network carries for a currency. `contract` is that of a token, in lower case; None for the coin."""

    currency: str
    contract: str | None
    decimals: int


class Measured(Struct, frozen=True):
    """What the rail's worker measured last."""

    available: bool
    checked_at: datetime
    facts: dict[str, Any]


class PayoutsMeasured(Struct, frozen=True):
    """What the worker measured of the payouts last: why there are none, and the currencies the wallet has too little of."""

    reason: str | None
    currencies_down: frozenset[str]
    checked_at: datetime
    facts: dict[str, Any]


class PayoutPort(Protocol):
    """Signs and sends orders, and keeps what became of them: `chains.payouts`."""

    async def submit(self, kind: Literal["withdrawal", "refund"], order: PayoutOrder | RefundOrder) -> Submission:
        """Submit an order, once per id."""
        ...

    async def state(self, order_id: UUID) -> PayoutState:
        """What became of an order."""
        ...


class EvmNetwork:
    """A network in live mode. What was measured is refreshed by each process that has one; the worker sets `payouts`."""

    mode: Mode = "live"
    is_exported = False
    times = AT_ONCE

    def __init__(self, name: str, settings: EvmSettings) -> None:
        self.name = name
        self.settings = settings
        coin = Asset(settings.coin, None, COIN_DECIMALS)
        tokens = (Asset(code, token.contract.lower(), token.decimals) for code, token in settings.tokens.items())
        self.assets = {asset.currency: asset for asset in (coin, *tokens)}
        self.measured: Measured | None = None
        self.payouts_measured: PayoutsMeasured | None = None
        self.payouts: PayoutPort | None = None

    def health(self) -> Health:
        """As measured lately; down without a measurement."""
        measured = self.measured
        if measured is None or not measured.available or clock.now() - measured.checked_at > HEALTH_EXPIRES_AFTER:
            return Health(available=False, reason="provider_down")
        return Health(
            available=True,
            currencies=frozenset(self.assets),
            payout_reason=self._payout_reason,
            payouts_down=self._payouts_down,
        )

    @property
    def _payouts_down(self) -> frozenset[str]:
        return frozenset() if self.payouts_measured is None else self.payouts_measured.currencies_down

    @property
    def _payout_reason(self) -> RailError | None:
        if self.settings.signer_socket is None:
            return "provider_not_configured"
        measured = self.payouts_measured
        if measured is None or measured.reason is not None or clock.now() - measured.checked_at > HEALTH_EXPIRES_AFTER:
            return "provider_down"
        return None

    async def start_payment(self, attempt: Attempt) -> Instructions:
        """The attempt's address, the exact amount, and both as an EIP-681 URI."""
        if attempt.address is None:
            raise ValueError("an attempt on a chain needs an address")
        return Instructions(
            reference=attempt.address,
            words=WORDS,
            address=attempt.address,
            pay_amount=format_minor(attempt.amount_minor, attempt.decimals),
            uri=self._uri(self.assets[attempt.currency], attempt),
        )

    def receiver_error(self, receiver: str) -> str | None:
        """The receiver must be an address, with the right checksum if it has one, and somebody's."""
        if not is_address(receiver):
            return "This must be an address: 0x and 40 hexadecimal digits. Copy it again; one of its characters is wrong."
        if receiver.lower() in self._unpayable:
            return (
                "Nobody can be paid at this address: it belongs to a token or to this platform, or it is the zero address."
            )
        return None

    def account_of(self, receiver: str) -> str:
        """In lower case."""
        return receiver.lower()

    async def refund(self, order: RefundOrder) -> Submission:
        """Sign and send a refund, once per id. Unknown outside the worker."""
        return await self._submit("refund", order)

    async def refund_state(self, order: RefundOrder, now: datetime) -> RefundState:  # noqa: ARG002 - as the seam asks
        """Succeeded when its block is final."""
        state = PayoutState("unknown") if self.payouts is None else await self.payouts.state(order.id)
        if state.outcome == "failed":
            return RefundState("failed", "refund_declined")
        return RefundState("succeeded" if state.outcome == "succeeded" else "pending")

    async def payout(self, order: PayoutOrder) -> Submission:
        """Sign and send a withdrawal, once per id. Unknown outside the worker."""
        return await self._submit("withdrawal", order)

    async def payout_state(self, order: PayoutOrder, now: datetime) -> PayoutState:  # noqa: ARG002 - as the seam asks
        """Succeeded when its block is final. Unknown outside the worker."""
        return PayoutState("unknown") if self.payouts is None else await self.payouts.state(order.id)

    async def _submit(self, kind: Literal["withdrawal", "refund"], order: PayoutOrder | RefundOrder) -> Submission:
        return Submission("unknown") if self.payouts is None else await self.payouts.submit(kind, order)

    @property
    def _unpayable(self) -> set[str | None]:
        """Addresses whose money would be lost, or would come back."""
        measured = self.payouts_measured
        wallet = "" if measured is None else str(measured.facts.get("wallet", "")).lower()
        return {ZERO, wallet, *(asset.contract for asset in self.assets.values())}

    def _uri(self, asset: Asset, attempt: Attempt) -> str:
        units, chain_id = to_units(attempt.amount_minor, attempt.decimals, asset.decimals), self.settings.chain_id
        if asset.contract is None:
            return f"ethereum:{attempt.address}@{chain_id}?value={units}"
        return f"ethereum:{asset.contract}@{chain_id}/transfer?address={attempt.address}&uint256={units}"
