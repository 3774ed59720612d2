"""`GET /metrics` on an address of its own, for Prometheus."""

import asyncio
import hmac
import socket

from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from tollhouse.http.services import Services
from tollhouse.instance.monitoring.database_metrics import DatabaseMetrics
from tollhouse.instance.monitoring.exposition import disk_metrics, exposition
from tollhouse.platform.log.events import log
from tollhouse.platform.server import listening
from tollhouse.platform.server import server as http_server

PATH = "/metrics"
CHANGE = "--metrics-port {port}"
RETRY_AFTER_S = 15
CHALLENGE = {"WWW-Authenticate": "Bearer"}


class Exporter:
    """Serves the metrics of this instance; `with_database` also those of the database, for one process of an instance."""

    def __init__(self, services: Services, *, with_database: bool) -> None:
        token = services.settings.metrics_token
        self._settings = services.settings
        self._authorization = None if token is None else f"Bearer {token}".encode()
        self._database = DatabaseMetrics(services) if with_database else None

    async def serve(self) -> None:
        """Serve until cancelled. A failure is logged: metrics must not end what they observe."""
        if self._settings.metrics_address is None:
            return
        listener = await listen(*self._settings.metrics_address)
        server = http_server.make_within(self, self._settings)
        try:
            await server.serve([listener])
        except Exception as error:  # noqa: BLE001 - as said above
            log.error("metrics_not_served", exc_info=error)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        response = await self._response(scope)
        await response(scope, receive, send)

    async def _response(self, scope: Scope) -> Response:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        if scope["path"] != PATH:
            return PlainTextResponse("Not found. The metrics are at /metrics.\n", 404)
        if scope["method"] not in {"GET", "HEAD"}:
            return PlainTextResponse("Method not allowed.\n", 405, {"Allow": "GET, HEAD"})
        if self._authorization is not None and not hmac.compare_digest(
            headers.get(b"authorization", b""), self._authorization
        ):
            return PlainTextResponse("The token is missing or wrong.\n", 401, CHALLENGE)
        folders = {"data": self._settings.data_dir, "wal_archive": self._settings.wal_archive}
        metrics = [*disk_metrics(folders), *([] if self._database is None else await self._database.read())]
        accept = headers.get(b"accept", b"").decode("latin-1")
        # In a thread, so that the requests of this process wait only a few milliseconds at a time.
        text, media_type = await asyncio.to_thread(exposition, metrics, accept)
        return Response(text, headers={"Content-Type": media_type})


async def listen(host: str, port: int) -> socket.socket:
    """A listening socket. While the address is taken, this is logged once and tried again."""
    is_logged = False
    while True:
        try:
            listener = listening.open_listening(host, port, CHANGE)
        except listening.ListenError as error:
            if not is_logged:
                log.warning("metrics_not_served", detail=str(error), retry_after_s=RETRY_AFTER_S)
                is_logged = True
            await asyncio.sleep(RETRY_AFTER_S)
        else:
            if is_logged:
                log.info("metrics_served", detail=listening.text((host, port)))
            return listener
