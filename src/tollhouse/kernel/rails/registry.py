"""The rails of each environment, by name: which exist, and what each can do now."""

from collections.abc import Iterable
from datetime import timedelta
from typing import TypeVar

from tollhouse.kernel.ids import Mode
from tollhouse.kernel.rails.chain import ChainNetwork, PayoutFee
from tollhouse.kernel.rails.provider import AT_ONCE, Health, PaymentTimes, Provider, RailError

R = TypeVar("R")


class Rails:
    """The configured rails, by name and mode."""

    def __init__(self, providers: Iterable[Provider]) -> None:
        self.providers = {(provider.name, provider.mode): provider for provider in providers}

    def of(self, kind: type[R]) -> list[R]:
        """The rails of this kind, in the order of the settings."""
        return [provider for provider in self.providers.values() if isinstance(provider, kind)]

    def find(self, name: str, mode: Mode) -> Provider | None:
        """The rail of this name in this environment; None if none is configured."""
        return self.providers.get((name, mode))

    def gives_addresses(self, name: str, mode: Mode) -> bool:
        """Whether each payment by the rail of this name has an address of its own."""
        return isinstance(self.find(name, mode), ChainNetwork)

    def error(self, name: str, mode: Mode, currency: str | None = None) -> RailError | None:
        """Why the rail of this name, or this currency on it, is unavailable in this environment; None if it is available."""
        provider = self.find(name, mode)
        return "provider_not_configured" if provider is None else _error(provider.health(), currency)

    def payout_error(self, name: str, mode: Mode, currency: str) -> RailError | None:
        """Why the rail of this name cannot pay out this currency in this environment; None if it can."""
        provider = self.find(name, mode)
        if provider is None:
            return "provider_not_configured"
        health = provider.health()
        is_down = currency in health.payouts_down
        return _error(health, currency) or health.payout_reason or ("provider_down" if is_down else None)

    def payout_fee(self, name: str, mode: Mode, currency: str) -> PayoutFee | None:
        """What the network of this rail would take for a payout of this currency now; None where it is not measured."""
        provider = self.find(name, mode)
        return provider.payout_fee(currency) if isinstance(provider, ChainNetwork) else None

    def times(self, name: str, mode: Mode) -> PaymentTimes:
        """How long payments by the rail of this name take."""
        provider = self.find(name, mode)
        return AT_ONCE if provider is None else provider.times

    @property
    def block_limits(self) -> dict[tuple[str, Mode], timedelta]:
        """By rail and mode of networks: how soon after it was seen first a transfer must be in a block."""
        limits: dict[tuple[str, Mode], timedelta] = {}
        for provider in self.providers.values():
            if provider.times.block_within is not None:
                limits[provider.name, provider.mode] = provider.times.block_within
        return limits


def _error(health: Health, currency: str | None) -> RailError | None:
    if not health.available:
        return health.reason or "provider_down"
    carried = health.currencies is None or currency is None or currency in health.currencies
    return None if carried else "provider_not_configured"
