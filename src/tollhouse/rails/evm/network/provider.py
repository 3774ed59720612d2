"""The rail of an EVM network: customers send the coin of the network or a token to an address of their payment.

The worker derives addresses and follows the chain (`chains`); this part talks to nobody.
"""

from datetime import timedelta

from msgspec import Struct

from tollhouse.kernel.money import format_minor
from tollhouse.kernel.rails.chain import ChainNetwork
from tollhouse.kernel.rails.provider import Attempt, Instructions, PaymentTimes
from tollhouse.rails.evm.network.node import COIN_DECIMALS, is_address, to_units
from tollhouse.rails.evm.settings import EvmSettings

WORDS = (
    "Send exactly this amount to the address, on this network only. What is sent on another network, or as another token, "
    "cannot be credited."
)
ZERO = "0x" + "0" * 40


class Asset(Struct, frozen=True):
    """What the network carries for a currency. `contract` is that of a token, in lower case; None for the coin."""

    currency: str
    contract: str | None
    decimals: int


class EvmNetwork(ChainNetwork):
    """A network of Ethereum's kind."""

    def __init__(self, name: str, settings: EvmSettings) -> None:
        super().__init__(name)
        self.settings = settings
        self.explorer_url = settings.explorer_url
        coin = Asset(settings.coin, None, COIN_DECIMALS)
        tokens = (Asset(code, token.contract.lower(), token.decimals) for code, token in settings.tokens.items())
        self.assets = {asset.currency: asset for asset in (coin, *tokens)}

    @property
    def times(self) -> PaymentTimes:
        """A transfer counts as of the moment it was seen, if a block has it soon enough."""
        return PaymentTimes(block_within=timedelta(seconds=self.settings.block_within_s), can_return=True)

    @property
    def currencies(self) -> frozenset[str]:
        """The coin and the tokens."""
        return frozenset(self.assets)

    @property
    def pays_out(self) -> bool:
        """With a signer, or a wallet whose signer has no connection."""
        return self.settings.signer_socket is not None or self.settings.offline_wallet is not None

    async def start_payment(self, attempt: Attempt) -> Instructions:
        """The attempt's address, the exact amount, and both as an EIP-681 URI."""
        if attempt.address is None:
            raise ValueError("an attempt on a chain needs an address")
        return Instructions(
            reference=attempt.address,
            words=WORDS,
            address=attempt.address,
            pay_amount=format_minor(attempt.amount_minor, attempt.decimals),
            uri=self._uri(self.assets[attempt.currency], attempt),
        )

    def receiver_error(self, receiver: str) -> str | None:
        """The receiver must be an address, with the right checksum if it has one, and somebody's."""
        if not is_address(receiver):
            return "This must be an address: 0x and 40 hexadecimal digits. Copy it again; one of its characters is wrong."
        if receiver.lower() in self._unpayable:
            return (
                "Nobody can be paid at this address: it belongs to a token or to this platform, or it is the zero address."
            )
        return None

    def account_of(self, receiver: str) -> str:
        """In lower case."""
        return receiver.strip().lower()

    @property
    def _unpayable(self) -> set[str | None]:
        """Addresses whose money would be lost, or would come back."""
        measured = self.payouts_measured
        wallet = "" if measured is None else str(measured.facts.get("wallet", "")).lower()
        return {ZERO, wallet, *(asset.contract for asset in self.assets.values())}

    def _uri(self, asset: Asset, attempt: Attempt) -> str:
        units, chain_id = to_units(attempt.amount_minor, attempt.decimals, asset.decimals), self.settings.chain_id
        if asset.contract is None:
            return f"ethereum:{attempt.address}@{chain_id}?value={units}"
        return f"ethereum:{asset.contract}@{chain_id}/transfer?address={attempt.address}&uint256={units}"
