"""What the rail of Bitcoin says without its node: settings, instructions, receivers and health."""

import msgspec
import pytest

from tests.rails.bitcoin.wallet import ACCOUNT, FINGERPRINT, THEIRS, ZPUB
from tollhouse.kernel import clock
from tollhouse.kernel.ids import new_id
from tollhouse.kernel.rails.chain import HEALTH_EXPIRES_AFTER, Measured
from tollhouse.kernel.rails.provider import Attempt
from tollhouse.kernel.rails.registry import Rails
from tollhouse.pages.checkout.payment_uri import payment_uri
from tollhouse.platform.settings.config import InvalidSettingsError
from tollhouse.rails import configured
from tollhouse.rails.bitcoin.network.keys import InvalidKeyError
from tollhouse.rails.bitcoin.network.provider import BitcoinNetwork
from tollhouse.rails.bitcoin.settings import BitcoinSettings

FILE = f"""
[bitcoin]
kind = "bitcoin"
network = "main"
node_url = "http://127.0.0.1:8332"
xpub = "{ZPUB}"
fingerprint = "{FINGERPRINT}"
"""


def make_network(text: str = FILE) -> BitcoinNetwork:
    """The rail of a file."""
    described = configured.read(text.encode())["bitcoin"]
    assert isinstance(described, BitcoinSettings)
    return BitcoinNetwork("bitcoin", described)


def test_a_rail_of_bitcoin_and_mistakes_in_its_settings() -> None:
    """An account with its origin; on test networks the coin type of BIP 84 differs."""
    network = make_network()
    assert network.account() == ACCOUNT
    assert (network.confirmations.of(1), network.settings.wallet) == (2, "tollhouse")
    small = make_network(FILE + "confirmations = 3\nsmall_up_to_minor = 100\n").confirmations
    assert (small.of(100), small.of(101)) == (1, 3)
    for changed, expected in (
        (('"main"', '"litecoin"'), "Invalid enum value 'litecoin'"),
        (("http://", "ftp://"), "must start with http"),
        (("node_url =", 'node_url_file = "/nowhere"\nnode_url ='), "both set"),
        (('network = "main"', 'network = "main"\nsmall_confirmations = 3'), "larger than confirmations"),
        (('network = "main"', 'network = "main"\nconfirmations = 0'), ">= 1"),
        (('network = "main"', 'network = "main"\naccount_path = "m/84h"'), "matching regex"),
        (("[bitcoin]", FILE.replace("bitcoin]", "other]") + "[bitcoin]"), "another rail has the same xpub"),
    ):
        with pytest.raises(InvalidSettingsError, match=expected):
            configured.read(FILE.replace(*changed, 1).encode())
    with pytest.raises(InvalidKeyError, match="network test"):
        make_network(FILE.replace('"main"', '"test"')).account()
    with pytest.raises(InvalidKeyError, match="needed by the worker"):
        make_network(FILE.replace("xpub", "wallet", 1).replace(ZPUB, "other")).account()


async def test_instructions_name_address_and_amount() -> None:
    """The code has what is left to pay."""
    network = make_network()
    shown = await network.start_payment(Attempt(new_id(), "bitcoin:BTC", "BTC", 150_000, 8, THEIRS))
    assert (shown.reference, shown.address, shown.pay_amount) == (THEIRS, THEIRS, "0.00150000")
    assert shown.uri == payment_uri(shown, 150_000, 8) == f"bitcoin:{THEIRS}?amount=0.00150000"
    assert payment_uri(shown, 50_000, 8) == f"bitcoin:{THEIRS}?amount=0.00050000"
    assert network.receiver_error(THEIRS.upper()) is None
    assert network.account_of(THEIRS.upper()) == THEIRS
    assert "Bitcoin address" in (network.receiver_error("0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359") or "")
    with pytest.raises(ValueError, match="address"):
        await network.start_payment(Attempt(new_id(), "bitcoin:BTC", "BTC", 1, 8))


async def test_it_is_available_while_its_worker_measures_it() -> None:
    """Nothing is paid out without a fingerprint; orders are unknown to a process without the port of payouts."""
    network = make_network()
    rails = Rails([network])
    assert rails.error("bitcoin", "live", "BTC") == "provider_down"
    network.measured = Measured(True, clock.now(), {})
    assert rails.error("bitcoin", "live", "BTC") is None
    assert rails.error("bitcoin", "live", "ETH") == "provider_not_configured"
    assert rails.payout_error("bitcoin", "live", "BTC") == "provider_down"
    network.settings = msgspec.structs.replace(network.settings, fingerprint=None)
    assert rails.payout_error("bitcoin", "live", "BTC") == "provider_not_configured"
    network.measured = Measured(True, clock.now() - HEALTH_EXPIRES_AFTER * 2, {})
    assert rails.error("bitcoin", "live", "BTC") == "provider_down"
    assert rails.gives_addresses("bitcoin", "live")
    assert not rails.gives_addresses("bitcoin", "test")
