"""A TCP proxy before PostgreSQL that can fall silent, as a failover without a reset does, and lose answers."""

import asyncio
import contextlib
from typing import Self
from urllib.parse import parse_qs, urlsplit


class Proxy:
    """Forwards a TCP port to the socket of `dsn`. Silent, it keeps connections open and passes nothing on."""

    def __init__(self, dsn: str) -> None:
        parts = urlsplit(dsn)
        self._socket = parse_qs(parts.query)["host"][0] + "/.s.PGSQL.5432"
        self._database = parts.path.removeprefix("/")
        self._talking = asyncio.Event()
        self._talking.set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: list[asyncio.StreamWriter] = []
        self.lose_answer_to = b""
        self.accepted = 0

    @property
    def dsn(self) -> str:
        """How to connect through it."""
        return f"postgresql://tollhouse@127.0.0.1:{self.port}/{self._database}"

    def silence(self) -> None:
        """Pass nothing on in either direction."""
        self._talking.clear()

    def resume(self) -> None:
        """Go on; what was held back is passed on."""
        self._talking.set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = int(self._server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for writer in self._writers:
            writer.transport.abort()
        await asyncio.sleep(0)  # the transports are closed by callbacks

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self._server.is_serving():  # accepted by the kernel before
            writer.transport.abort()
            return
        self.accepted += 1
        there, back = await asyncio.open_unix_connection(self._socket)
        self._writers += [writer, back]
        for source, sink in ((reader, back), (there, writer)):
            task = asyncio.create_task(self._pass_on(source, sink, watch=source is reader))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _pass_on(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, watch: bool) -> None:
        with contextlib.suppress(OSError), contextlib.closing(sink):
            while chunk := await source.read(65536):
                await self._talking.wait()
                sink.write(chunk)
                await sink.drain()
                if watch and self.lose_answer_to and self.lose_answer_to in chunk:
                    self.silence()
