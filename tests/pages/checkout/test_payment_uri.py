"""What the QR code of a payment on an EVM network asks for."""

import msgspec

from tollhouse.kernel.ids import new_id
from tollhouse.kernel.rails.provider import Attempt
from tollhouse.pages.checkout.payment_uri import payment_uri
from tollhouse.rails.evm.network.provider import EvmNetwork
from tollhouse.rails.evm.settings import EvmSettings, TokenSettings

CONTRACT = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48"
ADDRESS = "0x52908400098527886E0F7030069857D2E4169EE7"


async def test_the_rest_of_a_part_is_not_the_whole_amount_again() -> None:
    network = EvmNetwork("ethereum", EvmSettings(chain_id=1))
    shown = await network.start_payment(Attempt(new_id(), "ethereum:ETH", "ETH", 150_000_000, 8, ADDRESS))
    assert payment_uri(shown, 150_000_000, 8) == shown.uri == f"ethereum:{ADDRESS}@1?value=1500000000000000000"
    assert payment_uri(shown, 50_000_000, 8) == f"ethereum:{ADDRESS}@1?value=500000000000000000"
    tokens = {"USDC": TokenSettings(CONTRACT, 6)}
    dollars = EvmNetwork("ethereum", EvmSettings(chain_id=1, tokens=tokens))
    shown = await dollars.start_payment(Attempt(new_id(), "ethereum:USDC", "USDC", 12_500_000, 6, ADDRESS))
    assert payment_uri(shown, 12_500_000, 6) == shown.uri
    assert payment_uri(shown, 9_500_000, 6) == f"ethereum:{CONTRACT}@1/transfer?address={ADDRESS}&uint256=9500000"
    other = msgspec.structs.replace(shown, uri="ethereum:somewhere")
    assert payment_uri(other, 9_500_000, 6) == ADDRESS
