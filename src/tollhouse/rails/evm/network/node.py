"""A node of an EVM network: amounts, addresses and token calls (ERC-20) as it takes and returns them, and balances."""

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal, cast

from msgspec import Meta

from tollhouse.rails.json_rpc import JsonRpcNode, NodeResponseError, RpcCall

ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
COIN_DECIMALS = 18
TRANSFER_SELECTOR = "a9059cbb"
BALANCE_SELECTOR = "70a08231"
TRANSFER_TOPIC = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
"""keccak256 of `Transfer(address,address,uint256)`."""
Quantity = Annotated[str, Meta(pattern="^0x[0-9a-f]{1,64}$")]
"""A number in hexadecimal, as nodes write it."""
QUANTITY: type[str] = cast("Any", Quantity)
Hash = Annotated[str, Meta(pattern="^0x[0-9a-f]{64}$")]
HexData = Annotated[str, Meta(pattern="^0x([0-9a-fA-F]{2})*$")]
HEX_DATA: type[str] = cast("Any", HexData)
HexAddress = Annotated[str, Meta(pattern="^0x[0-9a-fA-F]{40}$")]


def to_units(amount_minor: int, decimals: int, chain_decimals: int) -> int:
    """The amount in units of the chain. Raises `ValueError` if the chain cannot express it."""
    if chain_decimals >= decimals:
        return amount_minor * 10 ** (chain_decimals - decimals)
    units, rest = divmod(amount_minor, 10 ** (decimals - chain_decimals))
    if rest:
        raise ValueError("the chain counts in larger units")
    return units


def to_minor(units: int, decimals: int, chain_decimals: int) -> int:
    """The amount in minor units, without what is less than one."""
    if chain_decimals >= decimals:
        return units // 10 ** (chain_decimals - decimals)
    return units * 10 ** (decimals - chain_decimals)


def checksum_address(address: str) -> str:
    """The address with the capitals that EIP-55 makes of its hash."""
    from eth_hash.auto import keccak  # noqa: PLC0415 - only where an EVM rail is configured

    digits = address[2:].lower()
    hashed = keccak(digits.encode()).hex()
    return "0x" + "".join(
        digit.upper() if int(nibble, 16) >= 8 else digit  # noqa: PLR2004 - the upper half of a nibble
        for digit, nibble in zip(digits, hashed, strict=False)
    )


def is_address(text: str) -> bool:
    """Whether it is an address: of one case, or with the right checksum."""
    if ADDRESS.fullmatch(text) is None:
        return False
    return text[2:] in {text[2:].lower(), text[2:].upper()} or checksum_address(text) == text


def address_word(address: str) -> str:
    """An address as 32 bytes in hexadecimal."""
    return address[2:].lower().rjust(64, "0")


def transfer_data(receiver: str, units: int) -> str:
    """The data of a call that transfers."""
    return f"0x{TRANSFER_SELECTOR}{address_word(receiver)}{units:064x}"


def balance_call(contract: str, address: str) -> dict[str, str]:
    """The call that returns the balance of an address."""
    return {"to": contract, "data": f"0x{BALANCE_SELECTOR}{address_word(address)}"}


class EvmNode(JsonRpcNode):
    """A node of an EVM network at a URL, which may contain a user and a password."""

    async def quantity(self, method: str, *params: Any) -> int:
        """The number that a call returns. Raises `NodeError`."""
        return number_of(await self.call(QUANTITY, method, *params))


def newest_of(finality: Literal["finalized"] | int) -> str:
    """The name of the block from which `final_number` counts."""
    return "finalized" if finality == "finalized" else "latest"


def final_number(newest: int, finality: Literal["finalized"] | int) -> int:
    """The number of the newest final block, from that of the block `newest_of`."""
    return newest if finality == "finalized" else max(newest - finality + 1, 0)


def number_of(quantity: str) -> int:
    """The number that a node wrote in hexadecimal."""
    return int(quantity, 16)


async def read_balances(node: EvmNode, addresses: Sequence[str], contract: str | None, block_hash: str) -> list[int]:
    """The units of each address, of the coin or of a token, after a block. Raises `NodeError`.

    A node that no longer has the state of the block refuses, as does one that does not know the block.
    """
    at = {"blockHash": block_hash}
    if contract is None:
        found = await node.batch(QUANTITY, [RpcCall("eth_getBalance", (address, at)) for address in addresses])
    else:
        found = await node.batch(
            HEX_DATA, [RpcCall("eth_call", (balance_call(contract, address), at)) for address in addresses]
        )
    if not all(balance is not None and balance != "0x" for balance in found):
        raise NodeResponseError("balances are missing")
    return [number_of(balance) for balance in found if balance is not None]
