"""The rail of Bitcoin: customers send to an address of their payment, which a watch-only wallet of the node follows.

The worker derives addresses and follows the wallet (`chains`); this part talks to nobody.
"""

from datetime import timedelta
from typing import Final

from tollhouse.kernel.money import format_minor
from tollhouse.kernel.rails.chain import ChainNetwork
from tollhouse.kernel.rails.provider import Attempt, Instructions, PaymentTimes
from tollhouse.rails.bitcoin.network import keys
from tollhouse.rails.bitcoin.network.keys import AccountKey, InvalidKeyError
from tollhouse.rails.bitcoin.network.transfers import Confirmations
from tollhouse.rails.bitcoin.settings import BitcoinSettings

CURRENCY: Final = "BTC"
WORDS = "Send exactly this amount to the address, in bitcoin only. What is sent on another network cannot be credited."
ACCOUNT_PATHS: Final = {True: "84h/0h/0h", False: "84h/1h/0h"}
"""The path of the first account (BIP84), of the main network and of all others."""

UNKNOWN_FINGERPRINT: Final = "00000000"


class BitcoinNetwork(ChainNetwork):
    """Bitcoin, through one account. Payouts leave by transactions that operators export and sign elsewhere."""

    is_exported = True

    def __init__(self, name: str, settings: BitcoinSettings) -> None:
        super().__init__(name)
        self.settings = settings
        self.explorer_url = settings.explorer_url

    @property
    def times(self) -> PaymentTimes:
        """A transfer counts as of the moment it was seen, if a block has it soon enough."""
        return PaymentTimes(block_within=timedelta(seconds=self.settings.block_within_s), can_return=True)

    @property
    def currencies(self) -> frozenset[str]:
        """Bitcoin."""
        return frozenset({CURRENCY})

    @property
    def pays_out(self) -> bool:
        """With the fingerprint of the master key, by which signers find their key."""
        return self.settings.fingerprint is not None

    @property
    def confirmations(self) -> Confirmations:
        """How many confirmations deposits need."""
        settings = self.settings
        return Confirmations(settings.confirmations, settings.small_confirmations, settings.small_up_to_minor)

    def account(self) -> AccountKey:
        """The account whose addresses are given out. Raises `InvalidKeyError`, also without one."""
        settings = self.settings
        if settings.xpub is None:
            raise InvalidKeyError("An extended public key is needed by the worker.")
        path = settings.account_path or ACCOUNT_PATHS[settings.network == "main"]
        return keys.parse_account(settings.xpub, settings.network, settings.fingerprint or UNKNOWN_FINGERPRINT, path)

    async def start_payment(self, attempt: Attempt) -> Instructions:
        """The attempt's address, the exact amount, and both as a BIP 21 URI."""
        if attempt.address is None:
            raise ValueError("an attempt on a chain needs an address")
        amount = format_minor(attempt.amount_minor, attempt.decimals)
        return Instructions(
            reference=attempt.address,
            words=WORDS,
            address=attempt.address,
            pay_amount=amount,
            uri=f"bitcoin:{attempt.address}?amount={amount}",
        )

    def receiver_error(self, receiver: str) -> str | None:
        """The receiver must be an address of the network whose coins somebody can spend."""
        return keys.address_error(receiver, self.settings.network)

    def account_of(self, receiver: str) -> str:
        """In lower case if it is bech32."""
        return keys.normal_address(receiver)
