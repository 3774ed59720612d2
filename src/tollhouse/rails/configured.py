"""The rails of each environment, built once from the settings."""

from collections.abc import Iterable

from tollhouse.kernel.ids import Mode
from tollhouse.platform.config import Settings
from tollhouse.rails.bank.transfer import BankAccount, BankTransfer
from tollhouse.rails.provider import AT_ONCE, PaymentTimes, Provider, RailError
from tollhouse.rails.sandbox import Sandbox

SANDBOX = Sandbox()


class Rails:
    """The configured rails, by name and mode."""

    def __init__(self, providers: Iterable[Provider]) -> None:
        self.providers = {(provider.name, provider.mode): provider for provider in providers}

    def find(self, name: str, mode: Mode) -> Provider | None:
        """The rail of this name in this environment; None if none is configured."""
        return self.providers.get((name, mode))

    def error(self, name: str, mode: Mode) -> RailError | None:
        """Why the rail of this name is unavailable in this environment; None if it is available."""
        provider = self.find(name, mode)
        if provider is None:
            return "provider_not_configured"
        health = provider.health()
        return None if health.available else health.reason or "provider_down"

    def times(self, name: str, mode: Mode) -> PaymentTimes:
        """How long payments by the rail of this name take."""
        provider = self.find(name, mode)
        return AT_ONCE if provider is None else provider.times


def configured_rails(settings: Settings) -> Rails:
    """The sandbox, and the rails that these settings describe."""
    account = bank_account(settings)
    return Rails([SANDBOX] if account is None else [SANDBOX, BankTransfer(account)])


def bank_account(settings: Settings) -> BankAccount | None:
    """The bank account of the instance; None if it is not set."""
    if settings.bank_iban is None or settings.bank_holder is None:
        return None
    return BankAccount(settings.bank_iban, settings.bank_holder, settings.bank_bic, settings.bank_address)
