"""The worker's side of the signer's socket."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar
from uuid import UUID

from tollhouse.rails.evm.signer.messages import (
    LINE_BYTES_MAX,
    RESPONSES,
    UNREADABLE,
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
    """Calls the signer. Inside `async with`, which may be nested, all calls share a connection."""

    is_offline = False
    """Whether it can never be asked to sign."""

    def __init__(self, socket: Path) -> None:
        self.socket = socket
        self._users, self._turn = 0, asyncio.Lock()
        self._connection: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def __aenter__(self) -> Self:
        self._users += 1
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._users -= 1
        if self._users == 0:
            self._close()

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
        async with self, self._turn:
            try:
                async with asyncio.timeout(TIMEOUT_S):
                    response = await self._exchange(request)
            except (OSError, EOFError, TimeoutError, asyncio.LimitOverrunError, *UNREADABLE) as error:
                raise SignerUnavailable(f"the signer does not answer ({type(error).__name__})") from error
        if not isinstance(response, expected | SigningRefused):
            raise SignerUnavailable(f"The signer answered with {type(response).__name__}.")
        return response

    async def _exchange(self, request: SignerRequest) -> SignerResponse:
        try:
            if self._connection is None:
                self._connection = await asyncio.open_unix_connection(self.socket, limit=LINE_BYTES_MAX)
            reader, writer = self._connection
            writer.write(line_of(request))
            await writer.drain()
            return RESPONSES.decode(await reader.readuntil(b"\n"))
        except BaseException:  # a later answer on this connection would be that to this request
            self._close()
            raise

    def _close(self) -> None:
        if self._connection is not None:
            self._connection[1].close()
        self._connection = None


class OfflineSigner(SignerClient):
    """In place of a signer without a connection: its wallet is known by the settings."""

    is_offline = True

    def __init__(self, wallet: str, chain_id: int) -> None:
        super().__init__(Path(wallet))
        self.wallet, self.chain_id = wallet, chain_id

    async def describe_wallet(self, network: str) -> WalletFacts | SigningRefused:  # noqa: ARG002 - as the class above
        """The wallet of the settings. What the signer has signed is not known."""
        return WalletFacts(self.wallet, self.chain_id, 0, self.wallet)

    async def _exchange(self, request: SignerRequest) -> SignerResponse:  # noqa: ARG002 - the same
        raise ConnectionError
