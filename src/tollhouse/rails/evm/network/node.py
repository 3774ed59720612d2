"""A node of an EVM network: what its JSON-RPC writes as text, and numbers."""

from typing import Annotated, Any, Literal, cast

from msgspec import Meta

from tollhouse.rails.json_rpc import JsonRpcNode

Quantity = Annotated[str, Meta(pattern="^0x[0-9a-f]{1,64}$")]
"""A number in hexadecimal, as nodes write it."""
QUANTITY: type[str] = cast("Any", Quantity)
Hash = Annotated[str, Meta(pattern="^0x[0-9a-f]{64}$")]
HexData = Annotated[str, Meta(pattern="^0x([0-9a-fA-F]{2})*$")]
HEX_DATA: type[str] = cast("Any", HexData)
HexAddress = Annotated[str, Meta(pattern="^0x[0-9a-fA-F]{40}$")]


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
