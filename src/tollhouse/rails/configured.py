"""Builds the rails of each environment from the settings, once at startup."""

from tollhouse.platform.config import Settings
from tollhouse.rails import settings as rail_settings
from tollhouse.rails.bank.transfer import BankAccount, BankTransfer
from tollhouse.rails.bitcoin.provider import BitcoinNetwork
from tollhouse.rails.evm.provider import EvmNetwork
from tollhouse.rails.provider import Provider
from tollhouse.rails.registry import Rails
from tollhouse.rails.sandbox import Sandbox
from tollhouse.rails.settings import BitcoinSettings, EvmSettings, StripeSettings
from tollhouse.rails.stripe.account import read_account
from tollhouse.rails.stripe.cards import StripeCards

SANDBOX = Sandbox()
FollowedNetwork = EvmNetwork | BitcoinNetwork
MeasuredRail = EvmNetwork | BitcoinNetwork | StripeCards
"""A rail that can be asked what it has, and is compared with the ledger."""


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


def following(rails: Rails) -> list[FollowedNetwork]:
    """The rails of block chains, which have an address for each payment and are followed by the worker."""
    return [*rails.of(EvmNetwork), *rails.of(BitcoinNetwork)]


def measured(rails: Rails) -> list[MeasuredRail]:
    """The rails that are compared with the ledger."""
    return [*following(rails), *rails.of(StripeCards)]
