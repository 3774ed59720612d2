"""The signer's Unix socket: a request per line, answered in order. The rules decide what is signed."""

import asyncio
import os
import resource
import signal
from contextlib import suppress
from pathlib import Path

from tollhouse.platform.failure import Failure
from tollhouse.platform.log.events import log
from tollhouse.rails.evm.signer.messages import LINE_BYTES_MAX, REQUESTS, UNREADABLE, SignerResponse, SigningRefused, line_of
from tollhouse.rails.evm.signer.rules import Signer

CALLERS_MAX = 32
SOCKET_MODE = 0o660
"""The socket is for its owner and group: the signer and the worker. The folder's permissions hold, too."""


class SocketInUse(Failure):
    """Another signer listens."""


async def serve(signer: Signer, socket: Path, stop: asyncio.Event | None = None) -> None:
    """Answer requests until SIGTERM, SIGINT or `stop`. Raises `SocketInUse` and `OSError`."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # no key in a file after a crash
    ended = asyncio.Event() if stop is None else stop
    if stop is None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, ended.set)
    await _remove_unused(socket)
    callers = set[asyncio.Task[None]]()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is None or len(callers) >= CALLERS_MAX:
            writer.close()
            return
        callers.add(task)
        try:
            await _answer_all(signer, reader, writer)
        except asyncio.CancelledError:  # the signer ends
            pass
        finally:
            callers.discard(task)
            writer.close()

    before = os.umask(0o177)  # until its mode is set, only the owner may open it
    try:
        server = await asyncio.start_unix_server(accept, socket, limit=LINE_BYTES_MAX)
    finally:
        os.umask(before)
    socket.chmod(SOCKET_MODE)
    log.info("signer_started", detail=f"{signer.wallet.address} {socket}", pid=os.getpid())
    try:
        await ended.wait()
    finally:
        server.close()
        for task in list(callers):
            task.cancel()
        await asyncio.gather(*callers, return_exceptions=True)
        socket.unlink(missing_ok=True)


async def _answer_all(signer: Signer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while True:
            try:
                line = await reader.readuntil(b"\n")
            except asyncio.IncompleteReadError:
                return
            except asyncio.LimitOverrunError:
                line = b""
            writer.write(line_of(_answer(signer, line)))
            await writer.drain()
            if not line:
                return


def _answer(signer: Signer, line: bytes) -> SignerResponse:
    try:
        request = REQUESTS.decode(line)
    except UNREADABLE as error:
        return SigningRefused("request_invalid", f"The request cannot be read: {error}")
    return signer.answer(request)


async def _remove_unused(socket: Path) -> None:
    """Remove the socket of a signer that was killed."""
    try:
        _, writer = await asyncio.open_unix_connection(socket)
    except (FileNotFoundError, ConnectionRefusedError):
        socket.unlink(missing_ok=True)
    else:
        writer.close()
        raise SocketInUse(f"Another signer listens on {socket}.")
