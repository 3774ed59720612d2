"""A node of an EVM network: what its JSON-RPC writes as text, and numbers."""

from typing import Annotated, Any, cast

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


def number_of(quantity: str) -> int:
    """The number that a node wrote in hexadecimal."""
    return int(quantity, 16)
