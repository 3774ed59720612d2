"""Records requests to the Integration API in the background, after their responses were sent.

Requests wait in memory for the next batch. They are lost if the process dies, if the queue is full, or while the database is
unavailable; the log counts them.
"""

import asyncio
from collections import deque
from contextlib import suppress

import msgspec
from msgspec import Struct
from starlette.responses import Response

from tollhouse.accounts.identity.model import Caller
from tollhouse.http.operations import Operation
from tollhouse.http.request import Request
from tollhouse.http.services import Services
from tollhouse.kernel.limits import IDEMPOTENCY_KEY_CHARS_MAX
from tollhouse.kernel.tokens import digest
from tollhouse.platform.database.errors import reason_of
from tollhouse.platform.database.pool import Pool
from tollhouse.platform.log.events import log
from tollhouse.webhooks.request_log import redaction, store
from tollhouse.webhooks.request_log.model import LoggedRequest

GATHER_MS = 200
BATCH = 100
QUEUE_MAX = 5_000
ERROR = 400
TOO_MANY = 429
REPLAYED = (b"idempotency-replayed", b"true")
INT_MAX = (1 << 31) - 1


class ErrorBody(Struct):
    """The error code of a response body."""

    error: str | None = None


class Recorder:
    """The request log of one web process, with its own connection."""

    def __init__(self, services: Services) -> None:
        self._enabled = services.settings.request_log_kept_days > 0
        # Losing requests in a crash is accepted, so commits do not wait for the disk.
        settings = {"synchronous_commit": "off"}
        self._db = Pool(
            services.settings.database_url or "", 1, services.db.name, settings=settings, partitions=services.db.partitions
        )
        self._queue: deque[LoggedRequest] = deque()
        self._lost = 0
        self._has_requests = asyncio.Event()
        self._stopping = asyncio.Event()
        self._writer: asyncio.Task[None] | None = None

    def record(self, request: Request, operation: Operation | None, response: Response, duration_us: int) -> None:
        """Queue a request that had a valid credential. If it was answered by calls of the API, those are logged.

        Requests over the rate limit are not logged, so that the limit bounds the log as well.
        """
        if (
            not self._enabled
            or operation is None
            or not isinstance(request.caller, Caller)
            or response.status_code == TOO_MANY
            or request.has_calls
        ):
            return
        if len(self._queue) >= QUEUE_MAX:
            self._lost += 1
            return
        try:
            self._queue.append(_logged_request(request, request.caller, operation, response, duration_us))
        except Exception as error:  # noqa: BLE001 - the response was sent already
            log.error("request_log_failed", exc_info=error)
        self._has_requests.set()

    def start(self) -> None:
        """Start the writer, if the log is enabled."""
        if self._enabled:
            self._writer = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Write the queue and stop."""
        self._stopping.set()
        self._has_requests.set()
        if self._writer is not None:
            await self._writer
        await self._db.close()

    async def _run(self) -> None:
        ended = False
        while not ended:
            await self._has_requests.wait()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), GATHER_MS / 1000)
            self._has_requests.clear()
            ended = self._stopping.is_set()
            await self._write()

    async def _write(self) -> None:
        while self._queue:
            batch = [self._queue.popleft() for _ in range(min(BATCH, len(self._queue)))]
            try:
                await store.insert(self._db, batch)
            except Exception as error:  # noqa: BLE001 - the log must not affect requests
                self._lost += len(batch)
                log.error("request_log_write_failed", error=type(error).__name__, reason=reason_of(error))
        if self._lost:
            log.error("request_log_requests_lost", count=self._lost)
            self._lost = 0


def _logged_request(
    request: Request, caller: Caller, operation: Operation, response: Response, duration_us: int
) -> LoggedRequest:
    body = bytes(response.body)
    is_error = response.status_code >= ERROR
    keys = request.headers.getlist("idempotency-key")
    declared = () if operation.query is None else operation.query.__struct_encode_fields__
    return LoggedRequest(
        id=request.server_request_id,
        merchant_id=caller.env.merchant_id,
        mode=caller.env.mode,
        created_at=request.now,
        request_id=request.request_id,
        method=request.method,
        path=redaction.redact_path(request.path.removeprefix(operation.surface.prefix))
        if request.params
        else operation.path,
        query=redaction.redact_query(request.query, declared),
        status=response.status_code,
        error=_code(body) if is_error else None,
        duration_us=min(duration_us, INT_MAX),
        credential=caller.client_id or str(caller.api_key_id),
        grant_id=caller.grant_id,
        key_hash=digest(keys[0]) if len(keys) == 1 and 1 <= len(keys[0]) <= IDEMPOTENCY_KEY_CHARS_MAX else None,
        replayed=bool(keys) and REPLAYED in response.raw_headers,
        request_body=redaction.redact_body(request.raw),
        response_body=redaction.redact_body(body) if is_error or request.method != "GET" else None,
    )


def _code(body: bytes) -> str | None:
    try:
        return msgspec.json.decode(body, type=ErrorBody).error
    except msgspec.DecodeError:
        return None
