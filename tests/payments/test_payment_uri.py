"""What the QR code of a payment on an EVM network asks for."""

from tollhouse.checkout.payment_uri import payment_uri
from tollhouse.kernel.ids import new_id
from tollhouse.rails.evm.provider import EvmNetwork
from tollhouse.rails.provider import Attempt
from tollhouse.rails.settings import EvmSettings

ADDRESS = "0x52908400098527886E0F7030069857D2E4169EE7"


async def test_the_rest_of_a_part_is_not_the_whole_amount_again() -> None:
    network = EvmNetwork("ethereum", EvmSettings(chain_id=1))
    shown = await network.start_payment(Attempt(new_id(), "ethereum:ETH", "ETH", 150_000_000, 8, ADDRESS))
    assert payment_uri(shown, 150_000_000, 8) == shown.uri == f"ethereum:{ADDRESS}@1?value=1500000000000000000"
    assert payment_uri(shown, 50_000_000, 8) == ADDRESS
