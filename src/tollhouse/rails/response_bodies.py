"""Bodies of responses of nodes and providers, which may be of any size."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import aiohttp


async def read_bounded(response: "aiohttp.ClientResponse", bytes_max: int) -> bytes | None:
    """The body; None if it is larger, of which no more is read."""
    raw = bytearray()
    async for chunk in response.content.iter_any():
        raw += chunk
        if len(raw) > bytes_max:
            return None
    return bytes(raw)
