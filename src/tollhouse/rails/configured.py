"""Which rails there are in each environment."""

from tollhouse.kernel.ids import Mode
from tollhouse.platform.config import Settings
from tollhouse.rails.bank_transfer import BankAccount, BankTransfer
from tollhouse.rails.provider import Provider, RailError
from tollhouse.rails.sandbox import Sandbox

SANDBOX = Sandbox()
RAILS: dict[tuple[str, Mode], Provider] = {(SANDBOX.name, SANDBOX.mode): SANDBOX}


def rail(name: str, mode: Mode) -> Provider | None:
    """The rail of this name in this environment; None when none is configured there."""
    return RAILS.get((name, mode))


def error(name: str, mode: Mode) -> RailError | None:
    """Why the rail of this name cannot be used in this environment now; None when it can."""
    provider = rail(name, mode)
    if provider is None:
        return "provider_not_configured"
    health = provider.health()
    return None if health.available else health.reason or "provider_down"


def configure(settings: Settings) -> None:
    """Add the rails that these settings describe to those of this process."""
    account = bank_account(settings)
    if account is not None:
        bank = BankTransfer(account)
        RAILS[bank.name, bank.mode] = bank


def bank_account(settings: Settings) -> BankAccount | None:
    """The bank account of the house; None where none is set."""
    if settings.bank_iban is None or settings.bank_holder is None:
        return None
    return BankAccount(settings.bank_iban, settings.bank_holder, settings.bank_bic)
