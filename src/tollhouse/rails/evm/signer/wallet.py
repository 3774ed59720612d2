"""The keys of a mnemonic: one of the wallet that pays, and one for each deposit address. Only the signer imports this."""

import stat
import sys
from pathlib import Path
from typing import Any, cast

from bip32 import BIP32
from eth_abi.abi import encode
from eth_account import Account
from eth_account.hdaccount import generate_mnemonic
from eth_account.hdaccount.mnemonic import Mnemonic
from eth_account.types import Language
from eth_utils.address import to_checksum_address
from eth_utils.exceptions import ValidationError

from tollhouse.platform import private_files
from tollhouse.platform.failure import Failure
from tollhouse.rails.evm.signer.messages import GasTerms, TransferOrder

sys.setrecursionlimit(1_000)
"""Python's default again: a library above raises it to 100,000, with which nested input overflows the stack."""

DEPOSITS = "m/44'/60'/0'/0"
"""The parent of deposit addresses, as wallets have it (BIP 44). Its public key derives them without any private key."""
PAYING = "m/44'/60'/1'/0/0"
"""Of an account of its own: the public key of the deposits and one of their private keys reveal nothing of it."""
WORDS = 24
TRANSFER = bytes.fromhex("a9059cbb")
"""The selector of `transfer(address,uint256)` of ERC-20."""
OTHERS_MAY = stat.S_IRWXG | stat.S_IRWXO


class WalletFileError(Failure):
    """The file of the mnemonic cannot be used."""


class Wallet:
    """Signs with the keys of a mnemonic. Nothing returns a private key."""

    def __init__(self, mnemonic: str) -> None:
        """Raises `ValueError` where these are not the words of a mnemonic."""
        words = " ".join(mnemonic.split())
        try:
            if not Mnemonic(Language.ENGLISH).is_mnemonic_valid(words):
                raise ValueError("not a mnemonic")
        except ValidationError:
            raise ValueError("not a mnemonic") from None
        bip32: Any = BIP32  # its functions have no types
        self._root = bip32.from_seed(Mnemonic.to_seed(words))
        self.address = self._address(PAYING)
        """The wallet that pays."""

    @property
    def xpub(self) -> str:
        """The public key from which deposit addresses are derived: address i is its child i."""
        return cast("str", self._root.get_xpub_from_path(DEPOSITS))

    def deposit_address(self, index: int) -> str:
        """The deposit address of this index, with its checksum."""
        return self._address(f"{DEPOSITS}/{index}")

    def sender(self, order: TransferOrder) -> str:
        """The address that pays an order."""
        return self.deposit_address(order.index or 0) if order.purpose == "sweep" else self.address

    def sign(self, order: TransferOrder, nonce: int, terms: GasTerms) -> tuple[str, str]:
        """The hash and the bytes of the transfer, both as 0x and hexadecimal digits. The same call gets the same bytes."""
        path = f"{DEPOSITS}/{order.index}" if order.purpose == "sweep" else PAYING
        fields = {
            "type": 2,
            "chainId": order.chain_id,
            "nonce": nonce,
            "to": to_checksum_address(order.contract or order.receiver),
            "value": 0 if order.contract else int(order.amount),
            "data": transfer_data(order.receiver, int(order.amount)) if order.contract else b"",
            "gas": terms.gas,
            "maxFeePerGas": terms.fee_per_gas,
            "maxPriorityFeePerGas": terms.tip_per_gas,
        }
        signed: Any = self._account(path).sign_transaction(fields)
        return "0x" + signed.hash.hex().removeprefix("0x"), "0x" + signed.raw_transaction.hex().removeprefix("0x")

    def _address(self, path: str) -> str:
        return cast("str", self._account(path).address)

    def _account(self, path: str) -> Any:
        account: Any = Account
        return account.from_key(self._root.get_privkey_from_path(path))


def transfer_data(receiver: str, amount_units: int) -> bytes:
    """The call data of a token transfer."""
    return TRANSFER + encode(["address", "uint256"], [to_checksum_address(receiver), amount_units])


def create_mnemonic(file: Path) -> str:
    """Write a new mnemonic to a new file that only its owner can read, and return it. Raises `FileExistsError`."""
    words = generate_mnemonic(WORDS, Language.ENGLISH)
    private_files.create(file, f"{words}\n".encode())
    return words


def open_wallet(file: Path) -> Wallet:
    """The wallet of a file that only its owner may read. Raises `WalletFileError`, whose text contains no word of it."""
    try:
        if file.stat().st_mode & OTHERS_MAY:
            raise WalletFileError(f"{file} can be read by others. Run: chmod 600 {file}")
        return Wallet(file.read_text("ascii"))
    except OSError as error:
        raise WalletFileError(f"{file} cannot be read: {error.strerror}.") from None
    except ValueError:
        raise WalletFileError(f"{file} does not contain a mnemonic of BIP 39 in English.") from None
