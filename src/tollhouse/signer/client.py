"""The worker's side of the signer's socket."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar
from uuid import UUID

import msgspec

from tollhouse.signer.messages import (
    LINE_BYTES_MAX,
    RESPONSES,
    DepositAddresses,
    DeriveAddresses,
    DescribeWallet,
    FindSigned,
    FoundSigned,
    SignedTransfer,
    SignerRequest,
    SignerResponse,
    SigningRefused,
    SignTransfer,
    WalletFacts,
    line_of,
)

TIMEOUT_S = 5
Expected = TypeVar("Expected", bound=SignerResponse)


class SignerUnavailable(Exception):
    """The signer did not answer. It may have signed."""


class SignerClient:
    """Calls the signer, with a connection for each call."""

    def __init__(self, socket: Path) -> None:
        self.socket = socket

    async def sign(self, request: SignTransfer) -> SignedTransfer | SigningRefused:
        """The signed transfer, or why nothing was signed. Raises `SignerUnavailable`."""
        return await self._call(request, SignedTransfer)

    async def find_signed(self, order_id: UUID) -> tuple[SignedTransfer, ...]:
        """All that was signed for an order. Raises `SignerUnavailable`."""
        found = await self._call(FindSigned(order_id), FoundSigned)
        if isinstance(found, SigningRefused):
            raise SignerUnavailable(found.message)
        return found.signed

    async def describe_wallet(self, network: str) -> WalletFacts | SigningRefused:
        """The wallet that pays on a network. Raises `SignerUnavailable`."""
        return await self._call(DescribeWallet(network), WalletFacts)

    async def derive_addresses(self, indexes: Sequence[int]) -> tuple[str, ...]:
        """The deposit addresses of these indexes, from the signer's keys. Raises `SignerUnavailable`."""
        found = await self._call(DeriveAddresses(tuple(indexes)), DepositAddresses)
        if isinstance(found, SigningRefused):
            raise SignerUnavailable(found.message)
        return found.addresses

    async def _call(self, request: SignerRequest, expected: type[Expected]) -> Expected | SigningRefused:
        try:
            async with asyncio.timeout(TIMEOUT_S):
                reader, writer = await asyncio.open_unix_connection(self.socket, limit=LINE_BYTES_MAX)
                try:
                    writer.write(line_of(request))
                    await writer.drain()
                    response = RESPONSES.decode(await reader.readuntil(b"\n"))
                finally:
                    writer.close()
        except (OSError, EOFError, TimeoutError, asyncio.LimitOverrunError, msgspec.DecodeError) as error:
            raise SignerUnavailable(f"the signer does not answer ({type(error).__name__})") from error
        if not isinstance(response, expected | SigningRefused):
            raise SignerUnavailable(f"The signer answered with {type(response).__name__}.")
        return response
