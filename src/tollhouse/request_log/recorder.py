"""Writes down what was asked of the Integration API, behind the answers: nobody waits for it, and nothing fails by it.

A line is made when its answer has been sent, and waits in memory for the next batch. What waits when the process dies is
lost, and so is what comes while too much waits or the database is away; the log says how much.
"""

import asyncio
from collections import deque
from contextlib import suppress

import msgspec
from msgspec import Struct
from starlette.responses import Response

from tollhouse.http.operations import Operation
from tollhouse.http.request import Request
from tollhouse.http.services import Services
from tollhouse.identity.model import Caller
from tollhouse.kernel.ids import new_id, parse_id
from tollhouse.kernel.limits import IDEMPOTENCY_KEY_CHARS_MAX
from tollhouse.kernel.tokens import digest
from tollhouse.platform.db import Pool
from tollhouse.platform.log import log
from tollhouse.request_log import redaction, store
from tollhouse.request_log.model import Entry

GATHER_MS = 200
BATCH = 100
WAITING_MAX = 5_000
REFUSED = 400
TOO_MANY = 429
REPLAYED = (b"idempotency-replayed", b"true")
INT_MAX = (1 << 31) - 1


class Told(Struct):
    """Of a refusal's body: its code."""

    error: str | None = None


class Recorder:
    """The request log of one web process, with a connection of its own."""

    def __init__(self, services: Services) -> None:
        self._on = services.settings.request_log_kept_days > 0
        # What a crash loses is lost: so nobody waits for the disk either.
        settings = {"synchronous_commit": "off"}
        self._db = Pool(
            services.settings.database_url or "", 1, services.db.name, settings=settings, partitions=services.db.partitions
        )
        self._waiting: deque[Entry] = deque()
        self._lost = 0
        self._there = asyncio.Event()
        self._end = asyncio.Event()
        self._writing: asyncio.Task[None] | None = None

    def note(self, request: Request, operation: Operation | None, response: Response, duration_us: int) -> None:
        """Keep this request for the next batch, if it came with a credential that we know.

        Not what is over the rate limit: so the limit bounds the log too, however hard somebody knocks.
        """
        if not self._on or operation is None or not isinstance(request.caller, Caller) or response.status_code == TOO_MANY:
            return
        if len(self._waiting) >= WAITING_MAX:
            self._lost += 1
            return
        try:
            self._waiting.append(_entry(request, request.caller, operation, response, duration_us))
        except Exception as fault:  # noqa: BLE001 - the answer was sent: a line that cannot be made is no fault of its caller
            log.error("failed", part="request log", exc_info=fault)
        self._there.set()

    def start(self) -> None:
        """Begin to write, if any log is kept here."""
        if self._on:
            self._writing = asyncio.create_task(self._write_on())

    async def stop(self) -> None:
        """Write what waits, and end."""
        self._end.set()
        self._there.set()
        if self._writing is not None:
            await self._writing
        await self._db.close()

    async def _write_on(self) -> None:
        ended = False
        while not ended:
            await self._there.wait()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._end.wait(), GATHER_MS / 1000)
            self._there.clear()
            ended = self._end.is_set()
            await self._write()

    async def _write(self) -> None:
        while self._waiting:
            batch = [self._waiting.popleft() for _ in range(min(BATCH, len(self._waiting)))]
            try:
                await store.write(self._db, batch)
            except Exception as fault:  # noqa: BLE001 - whatever it is, requests are answered all the same
                self._lost += len(batch)
                log.error("request log not written", reason=type(fault).__name__)
        if self._lost:
            log.error("request log lost lines", count=self._lost)
            self._lost = 0


def _entry(request: Request, caller: Caller, operation: Operation, response: Response, duration_us: int) -> Entry:
    body = bytes(response.body)
    refused = response.status_code >= REFUSED
    keys = request.headers.getlist("idempotency-key")
    declared = () if operation.query is None else operation.query.__struct_encode_fields__
    return Entry(
        id=parse_id(request.own_id) or new_id(),
        merchant_id=caller.env.merchant_id,
        mode=caller.env.mode,
        created_at=request.now,
        request_id=parse_id(request.request_id) or new_id(),
        method=request.method,
        path=redaction.path_of(request.path.removeprefix(operation.surface.prefix)),
        query=redaction.query_of(request.query, declared),
        status=response.status_code,
        error=_code(body) if refused else None,
        duration_us=min(duration_us, INT_MAX),
        credential=caller.client_id or str(caller.api_key_id),
        grant_id=caller.grant_id,
        key_hash=digest(keys[0]) if len(keys) == 1 and 1 <= len(keys[0]) <= IDEMPOTENCY_KEY_CHARS_MAX else None,
        replayed=bool(keys) and REPLAYED in response.raw_headers,
        asked=redaction.body_of(request.raw),
        answered=redaction.body_of(body) if refused or request.method != "GET" else None,
    )


def _code(body: bytes) -> str | None:
    try:
        return msgspec.json.decode(body, type=Told).error
    except msgspec.DecodeError:
        return None
