"""Builds the rails of each environment from the settings, once at startup."""

from tollhouse.kernel.rails.provider import Provider
from tollhouse.kernel.rails.registry import Rails
from tollhouse.platform.settings.config import Settings
from tollhouse.rails import settings as rail_settings
from tollhouse.rails.bank.files.transfer import BankTransfer, bank_account
from tollhouse.rails.bitcoin.network.provider import BitcoinNetwork
from tollhouse.rails.cards.stripe.cards import StripeCards
from tollhouse.rails.cards.stripe.client import read_account
from tollhouse.rails.evm.network.provider import EvmNetwork
from tollhouse.rails.sandbox.provider import SANDBOX
from tollhouse.rails.settings import BitcoinSettings, EvmSettings, StripeSettings


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
