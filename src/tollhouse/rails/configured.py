"""The rails of each environment, built once from the settings."""

from collections.abc import Iterable

from tollhouse.kernel.ids import Mode
from tollhouse.platform.config import Settings
from tollhouse.rails import settings as rail_settings
from tollhouse.rails.bank.transfer import BankAccount, BankTransfer
from tollhouse.rails.bitcoin.provider import BitcoinNetwork
from tollhouse.rails.chain import ChainNetwork, PayoutFee
from tollhouse.rails.evm.provider import EvmNetwork
from tollhouse.rails.provider import AT_ONCE, Health, PaymentTimes, Provider, RailError
from tollhouse.rails.sandbox import Sandbox
from tollhouse.rails.settings import BitcoinSettings, EvmSettings, StripeSettings
from tollhouse.rails.stripe.account import read_account
from tollhouse.rails.stripe.cards import StripeCards

SANDBOX = Sandbox()
FollowedNetwork = EvmNetwork | BitcoinNetwork
MeasuredRail = EvmNetwork | BitcoinNetwork | StripeCards
"""A rail that can be asked what it has, and is compared with the ledger."""


class Rails:
    """The configured rails, by name and mode."""

    def __init__(self, providers: Iterable[Provider]) -> None:
        self.providers = {(provider.name, provider.mode): provider for provider in providers}

    @property
    def following(self) -> list[FollowedNetwork]:
        """The rails of block chains, which have an address for each payment and are followed by the worker."""
        return [provider for provider in self.providers.values() if isinstance(provider, FollowedNetwork)]

    @property
    def chains(self) -> list[EvmNetwork]:
        """The rails of EVM networks."""
        return [provider for provider in self.following if isinstance(provider, EvmNetwork)]

    @property
    def bitcoin_networks(self) -> list[BitcoinNetwork]:
        """The rails of Bitcoin."""
        return [provider for provider in self.following if isinstance(provider, BitcoinNetwork)]

    @property
    def measured(self) -> list[MeasuredRail]:
        """The rails that are compared with the ledger."""
        return [provider for provider in self.providers.values() if isinstance(provider, MeasuredRail)]

    def find(self, name: str, mode: Mode) -> Provider | None:
        """The rail of this name in this environment; None if none is configured."""
        return self.providers.get((name, mode))

    def chain(self, name: str, mode: Mode) -> EvmNetwork | None:
        """The rail of this name if it is one of an EVM network."""
        found = self.find(name, mode)
        return found if isinstance(found, EvmNetwork) else None

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


def configured_rails(settings: Settings) -> Rails:
    """The sandbox, and the rails that these settings and their rails file describe. Raises `InvalidSettingsError`."""
    account = bank_account(settings)
    providers: list[Provider] = [SANDBOX] if account is None else [SANDBOX, BankTransfer(account)]
    for name, described in rail_settings.load(settings.rails_file).items():
        match described:
            case StripeSettings():
                providers.append(StripeCards(read_account(name, described)))
            case EvmSettings():
                providers.append(EvmNetwork(name, described))
            case BitcoinSettings():
                providers.append(BitcoinNetwork(name, described))
    return Rails(providers)


def bank_account(settings: Settings) -> BankAccount | None:
    """The bank account of the instance; None if it is not set."""
    if settings.bank_iban is None or settings.bank_holder is None:
        return None
    return BankAccount(settings.bank_iban, settings.bank_holder, settings.bank_bic, settings.bank_address)


def _error(health: Health, currency: str | None) -> RailError | None:
    if not health.available:
        return health.reason or "provider_down"
    carried = health.currencies is None or currency is None or currency in health.currencies
    return None if carried else "provider_not_configured"
