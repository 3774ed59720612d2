"""The rails file: what it describes, and what it may not say."""

from pathlib import Path

import pytest

from tollhouse.kernel.ids import new_id
from tollhouse.kernel.rails.provider import Attempt
from tollhouse.platform.settings.config import InvalidSettingsError
from tollhouse.rails import configured, settings
from tollhouse.rails.evm.network.node import checksum_address, is_address, to_minor, to_units
from tollhouse.rails.evm.network.provider import EvmNetwork
from tollhouse.rails.evm.settings import EvmSettings

USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
FILE = f"""
[ethereum]
kind = "evm"
chain_id = 1
node_url = "http://127.0.0.1:8545"
[ethereum.tokens.USDC]
contract = "{USDC}"
decimals = 6
"""
SHOP = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"


def test_a_rail_of_an_evm_network() -> None:
    rail = configured.read(FILE.encode())["ethereum"]
    assert isinstance(rail, EvmSettings)
    assert (rail.chain_id, rail.finality, rail.coin) == (1, "finalized", "ETH")
    assert rail.tokens["USDC"].contract == USDC
    assert configured.load(None) == {}


def test_a_file_with_a_secret_is_read_again_when_it_changes(tmp_path: Path) -> None:
    file = tmp_path / "url"
    assert settings.current_secret("http://here", None) == "http://here"
    for url in ("http://one", "http://another"):
        file.write_text(f"{url}\n")
        assert settings.current_secret(None, str(file)) == settings.current_secret(None, str(file)) == url
    file.unlink()
    with pytest.raises(ValueError, match="cannot be read"):
        settings.current_secret(None, str(file))


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (("[ethereum]", "[ethereum"), "not valid TOML"),
        (('kind = "evm"', 'kind = "evn"'), "Invalid value 'evn'"),
        (("chain_id = 1", 'chain_id = "1"'), "Expected `int`"),
        (("chain_id = 1", "chain_id = 1\nprivate_key = 1"), "unknown field `private_key`"),
        (("ethereum", "bank"), "built in"),
        (("http://", "ftp://"), "must start with http"),
        (("decimals = 6", "decimals = 60"), "<= 36"),
        (("chain_id = 1", 'chain_id = 1\nnode_url_file = "/nowhere"'), "both set"),
        (("tokens.USDC", "tokens.ETH"), "coin of the network"),
        (("chain_id = 1", "chain_id = 1\nfinality = 0"), ">= 1"),
        (("chain_id = 1", 'chain_id = 1\nsigner_socket = "s"\nsweep_above = { BTC = "1" }'), "does not carry"),
        (("chain_id = 1", 'chain_id = 1\nsweep_above = { ETH = "1" }'), "needs signer_socket"),
    ],
)
def test_mistakes_are_named(changed: tuple[str, str], expected: str) -> None:
    with pytest.raises(InvalidSettingsError, match=expected):
        configured.read(FILE.replace(*changed).encode())


def test_units_and_addresses() -> None:
    assert to_units(150_000_000, 8, 18) == 15 * 10**17
    assert to_minor(15 * 10**17 + 10**10 - 1, 8, 18) == 150_000_000
    assert (to_units(5, 6, 6), to_minor(5, 6, 6), to_minor(5, 8, 6)) == (5, 5, 500)
    with pytest.raises(ValueError, match="larger units"):
        to_units(5, 8, 6)
    assert checksum_address(SHOP.lower()) == SHOP
    assert is_address(SHOP)
    assert is_address(SHOP.lower())
    assert not is_address(SHOP.replace("fB", "FB"))
    assert not is_address(SHOP[:-1])


async def test_instructions_name_address_amount_and_network() -> None:
    rail = configured.read(FILE.encode())["ethereum"]
    assert isinstance(rail, EvmSettings)
    network = EvmNetwork("ethereum", rail)
    coin = await network.start_payment(Attempt(new_id(), "ethereum:ETH", "ETH", 150_000_000, 8, SHOP))
    assert (coin.reference, coin.pay_amount) == (SHOP, "1.50000000")
    assert coin.uri == f"ethereum:{SHOP}@1?value=1500000000000000000"
    token = await network.start_payment(Attempt(new_id(), "ethereum:USDC", "USDC", 12_500_000, 6, SHOP))
    assert token.uri == f"ethereum:{USDC.lower()}@1/transfer?address={SHOP}&uint256=12500000"
    with pytest.raises(ValueError, match="address"):
        await network.start_payment(Attempt(new_id(), "ethereum:ETH", "ETH", 1, 8))
