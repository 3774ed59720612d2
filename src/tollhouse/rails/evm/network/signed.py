"""Reads signed transactions that come back from a machine without network. Only commands of operators import this."""

import sys
from typing import Any

from eth_account import Account
from eth_account.typed_transactions.typed_transaction import TypedTransaction
from eth_hash.auto import keccak
from hexbytes import HexBytes
from msgspec import Struct

from tollhouse.rails.evm.network.node import transfer_data

sys.setrecursionlimit(1_000)
"""Python's default again: a library above raises it to 100,000."""

RAW_CHARS_MAX = 4_096
TYPE = 2
HALF_OF_ORDER = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0
"""Of two signatures that are valid, networks take the one whose s is at most this (EIP-2)."""


class UnreadableTransaction(Exception):
    """These bytes are no signed transaction of type 2. The text says why."""


class DecodedTransaction(Struct, frozen=True, kw_only=True):
    """What signed bytes say: addresses in lower case, the contract or receiver as `target`."""

    tx_hash: str
    sender: str
    chain_id: int
    nonce: int
    target: str
    value: int
    data: str
    gas: int
    fee_per_gas: int
    tip_per_gas: int

    def moves(self, receiver: str, contract: str | None, amount_units: int) -> bool:
        """Whether it is this transfer, and nothing else."""
        if contract is None:
            expected = (receiver.lower(), amount_units, "0x")
        else:
            expected = (contract.lower(), 0, transfer_data(receiver, amount_units))
        return (self.target, self.value, self.data) == expected


def read(raw: str) -> DecodedTransaction:
    """Read signed bytes, written as 0x and hexadecimal digits. Raises `UnreadableTransaction`."""
    if len(raw) > RAW_CHARS_MAX or not raw.startswith("0x"):
        raise UnreadableTransaction("it is too long, or does not begin with 0x")
    try:
        data = bytes.fromhex(raw[2:])
        account: Any = Account  # its functions have no types
        found: dict[str, Any] = TypedTransaction.from_bytes(HexBytes(data)).as_dict()
        sender: str = account.recover_transaction(data)
    except Exception as error:  # noqa: BLE001 - whatever the libraries raise for such bytes
        raise UnreadableTransaction(f"it cannot be decoded ({type(error).__name__})") from None
    if found["type"] != TYPE or found["accessList"] or found["v"] not in {0, 1} or not 0 < found["s"] <= HALF_OF_ORDER:
        raise UnreadableTransaction("it is not a transaction as the signer makes it")
    return DecodedTransaction(
        tx_hash=f"0x{keccak(data).hex()}",
        sender=sender.lower(),
        chain_id=found["chainId"],
        nonce=found["nonce"],
        target=f"0x{bytes(found['to']).hex()}",
        value=found["value"],
        data=f"0x{bytes(found['data']).hex()}",
        gas=found["gas"],
        fee_per_gas=found["maxFeePerGas"],
        tip_per_gas=found["maxPriorityFeePerGas"],
    )
