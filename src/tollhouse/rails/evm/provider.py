"""The rail of an EVM network: customers send the coin of the network or a token to an address of their payment.

The worker derives addresses and follows the chain (`chains`); this part talks to nobody.
"""

from datetime import datetime, timedelta
from typing import Any

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
    RefundOrder,
    RefundState,
    Submission,
)
from tollhouse.rails.settings import EvmSettings

WORDS = (
    "Send exactly this amount to the address, on this network only. What is sent on another network, or as another token, "
    "cannot be credited."
)
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


class EvmNetwork:
    """A network in live mode. `measured` is refreshed by each process that has an EVM rail."""

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

    def health(self) -> Health:
        """As measured lately; down without a measurement."""
        measured = self.measured
        if measured is None or not measured.available or clock.now() - measured.checked_at > HEALTH_EXPIRES_AFTER:
            return Health(available=False, reason="provider_down")
        return Health(available=True, currencies=frozenset(self.assets), payout_reason="provider_not_configured")

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
        """The receiver must be an address, with the right checksum if it has one."""
        if is_address(receiver):
            return None
        return "This must be an address: 0x and 40 hexadecimal digits. Copy it again; one of its characters is wrong."

    def account_of(self, receiver: str) -> str:
        """In lower case."""
        return receiver.lower()

    async def refund(self, order: RefundOrder) -> Submission:  # noqa: ARG002 - as the seam asks
        """Rejected: there is no signer."""
        return Submission("rejected", failure_code="refund_declined")

    async def refund_state(self, order: RefundOrder, now: datetime) -> RefundState:  # noqa: ARG002 - as the seam asks
        """Nothing was accepted."""
        return RefundState("failed", "refund_declined")

    async def payout(self, order: PayoutOrder) -> Submission:  # noqa: ARG002 - as the seam asks
        """Rejected: there is no signer."""
        return Submission("rejected", failure_code="payout_declined")

    async def payout_state(self, order: PayoutOrder, now: datetime) -> PayoutState:  # noqa: ARG002 - as the seam asks
        """Nothing was submitted."""
        return PayoutState("absent")

    def _uri(self, asset: Asset, attempt: Attempt) -> str:
        units, chain_id = to_units(attempt.amount_minor, attempt.decimals, asset.decimals), self.settings.chain_id
        if asset.contract is None:
            return f"ethereum:{attempt.address}@{chain_id}?value={units}"
        return f"ethereum:{asset.contract}@{chain_id}/transfer?address={attempt.address}&uint256={units}"
