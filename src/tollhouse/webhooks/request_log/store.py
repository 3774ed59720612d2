"""SQL of the request log. Ids are ordered by time, so the primary key gives the newest first."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from tollhouse.accounts.identity.model import Caller
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.tokens import digest
from tollhouse.platform.database.packed_json import pack, unpack
from tollhouse.platform.database.pool import Pool, Row
from tollhouse.webhooks.request_log.model import (
    CausingRequest,
    CredentialLabel,
    LoggedRequest,
    OwnRequest,
    OwnRequestsQuery,
    RequestRow,
    RequestsQuery,
    RequestView,
)

SEARCHED_REQUESTS_MAX = 10_000
CREDENTIALS_MAX = 200
SAME_KEY_MAX = 20
CHANGES_AT_ONCE_MAX = 20
"""Changes of one merchant at the same microsecond that are looked through for the one of an object."""

INSERT = """
    INSERT INTO api_requests
        (id, merchant_id, mode, created_at, request_id, method, path, query, status, error, duration_us, credential,
         grant_id, key_hash, replayed, request_body, response_body)
    SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::timestamptz[], $5::uuid[], $6::text[], $7::text[],
                         $8::text[], $9::int[], $10::text[], $11::int[], $12::text[], $13::uuid[], $14::bytea[],
                         $15::boolean[], $16::bytea[], $17::bytea[])
"""
# $3: the oldest id shown, $4: the last id of the previous page.
NEWEST = """
    SELECT id, created_at, method, path, status, error, duration_us, credential, key_hash, replayed
    FROM api_requests
    WHERE merchant_id = $1 AND mode = $2 AND id >= $3 AND id < $4
    ORDER BY id DESC LIMIT $5
"""
# Only the newest $12 requests are searched, which bounds the cost of rare matches.
FILTERED = """
    SELECT id, created_at, method, path, status, error, duration_us, credential, key_hash, replayed
    FROM (SELECT id, created_at, method, path, status, error, duration_us, credential, key_hash, replayed, request_id
          FROM api_requests
          WHERE merchant_id = $1 AND mode = $2 AND id >= $3 AND id < $4
          ORDER BY id DESC LIMIT $12) AS newest
    WHERE ($6 = '' OR method = $6) AND ($7 = 0 OR status / 100 = $7) AND ($8 = '' OR strpos(path, $8) > 0)
      AND ($9 = '' OR credential = $9) AND ($10::bytea IS NULL OR key_hash = $10)
      AND ($11 = '' OR request_id::text = lower($11))
    ORDER BY id DESC LIMIT $5
"""
# Of an application ($6), or of all API keys. Who follows the log does not see that it does.
OWN = """
    SELECT id, created_at, request_id, method, path, status, error, duration_us, replayed
    FROM (SELECT id, created_at, request_id, method, path, status, error, duration_us, replayed, credential, grant_id
          FROM api_requests
          WHERE merchant_id = $1 AND mode = $2 AND id >= $3 AND id < $4
          ORDER BY id DESC LIMIT $7) AS newest
    WHERE CASE WHEN $6::text IS NULL THEN grant_id IS NULL ELSE credential = $6 END AND path <> '/request-log'
    ORDER BY id DESC LIMIT $5
"""
ONE = """
    SELECT id, created_at, method, path, status, error, duration_us, credential, key_hash, replayed, request_id, query,
           grant_id, request_body, response_body, asked, answered
    FROM api_requests WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND id >= $4
"""
CAUSE = """
    SELECT id, created_at, method, path FROM api_requests WHERE merchant_id = $1 AND mode = $2 AND id = $3 AND id >= $4
"""
# Changes that succeeded at one of the times $3, with ids from $4 to before $5 at the same position.
CHANGES_AT = """
    SELECT r.id, r.created_at, r.method, r.path, r.response_body, r.answered
    FROM unnest($3::timestamptz[], $4::uuid[], $5::uuid[]) AS moment (at, first, behind)
    CROSS JOIN LATERAL (
        SELECT id, created_at, method, path, response_body, answered FROM api_requests
        WHERE merchant_id = $1 AND mode = $2 AND id >= moment.first AND id < moment.behind AND created_at = moment.at
          AND method <> 'GET' AND status < 400 AND NOT replayed
        LIMIT $6) r
"""
# The credentials of this environment, for the filter.
CREDENTIALS = """
    (SELECT id::text AS credential, name || ' …' || hint AS name, 'key' AS kind FROM api_keys
     WHERE merchant_id = $1 AND mode = $2 ORDER BY created_at DESC, id DESC LIMIT $3)
    UNION ALL
    (SELECT c.id, c.name, 'application' FROM oauth_clients c
     WHERE c.id IN (SELECT client_id FROM oauth_grants WHERE merchant_id = $1 AND mode = $2) ORDER BY c.name, c.id LIMIT $3)
"""

LAST_ID = UUID(int=(1 << 128) - 1)
CLOCK_TOLERANCE = timedelta(seconds=5)
"""Between the time in an id and the time of the request."""


async def insert(db: Pool, entries: Sequence[LoggedRequest]) -> None:
    """Insert requests in one statement."""
    columns = zip(*(_values(entry) for entry in entries), strict=True)
    await db.execute(INSERT, *(list(column) for column in columns))


async def list_newest(db: Pool, env: MerchantEnv, query: RequestsQuery, fetch: int, since: datetime) -> list[RequestRow]:
    """Matching requests since then, newest first."""
    span = (env.merchant_id, env.mode, first_id(since), query.before or LAST_ID, fetch)
    if not query.filters:
        return [_row(row) for row in await db.fetch(NEWEST, *span)]
    return await _list_matching(db, span, query, digest(query.key) if query.key else None)


async def list_own(db: Pool, caller: Caller, query: OwnRequestsQuery, since: datetime) -> list[OwnRequest]:
    """What the caller may see since then, newest first, and one more than asked for."""
    span = (caller.env.merchant_id, caller.env.mode, first_id(since), query.before or LAST_ID, query.limit + 1)
    return [
        OwnRequest(
            id=row["id"],
            created_at=stamp(row["created_at"]),
            request_id=row["request_id"],
            method=row["method"],
            path=row["path"],
            status=row["status"],
            error=row["error"],
            duration_ms=(row["duration_us"] + 500) // 1000,
            replayed=row["replayed"],
        )
        for row in await db.fetch(OWN, *span, caller.client_id, SEARCHED_REQUESTS_MAX)
    ]


async def get(db: Pool, env: MerchantEnv, request: UUID, since: datetime) -> RequestView | None:
    """A request of this environment since then, with the others of its Idempotency-Key; None if there is none."""
    row = await db.fetchrow(ONE, env.merchant_id, env.mode, request, first_id(since))
    if row is None:
        return None
    same_key: list[RequestRow] = []
    if row["key_hash"] is not None:
        span = (env.merchant_id, env.mode, first_id(since), LAST_ID, SAME_KEY_MAX + 1)
        same_key = [
            other for other in await _list_matching(db, span, RequestsQuery(), row["key_hash"]) if other.id != request
        ]
    return RequestView(
        **msgspec.structs.asdict(_row(row)),
        request_id=row["request_id"],
        query=row["query"],
        grant_id=row["grant_id"],
        request_body=_body(row["request_body"], row["asked"]),
        response_body=_body(row["response_body"], row["answered"]),
        same_key=same_key[:SAME_KEY_MAX],
    )


async def get_cause(db: Pool, env: MerchantEnv, request: UUID, since: datetime) -> CausingRequest | None:
    """A request of this environment since then, without what was sent and answered; None if the log does not have it."""
    row = await db.fetchrow(CAUSE, env.merchant_id, env.mode, request, first_id(since))
    return None if row is None else CausingRequest(*row.values())


async def list_credentials(db: Pool, env: MerchantEnv) -> list[CredentialLabel]:
    """The API keys and connected applications of this environment."""
    rows = await db.fetch(CREDENTIALS, env.merchant_id, env.mode, CREDENTIALS_MAX)
    return [CredentialLabel(row["credential"], row["name"], row["kind"]) for row in rows]


async def list_causes(
    db: Pool, env: MerchantEnv, object_ids: Sequence[UUID], times: Sequence[datetime], since: datetime
) -> list[CausingRequest]:
    """The requests since then that changed one of these objects at one of these times."""
    kept = [at for at in set(times) if at >= since]
    bounds = ([first_id(at - CLOCK_TOLERANCE) for at in kept], [first_id(at + CLOCK_TOLERANCE) for at in kept])
    if not kept:
        return []
    rows = await db.fetch_custom_plan(CHANGES_AT, env.merchant_id, env.mode, kept, *bounds, CHANGES_AT_ONCE_MAX)
    named = [str(object_id) for object_id in object_ids]
    causes = {
        row["created_at"]: CausingRequest(row["id"], row["created_at"], row["method"], row["path"])
        for row in reversed(rows)
        if _names(row["path"], named) or _names(_body(row["response_body"], row["answered"]) or "", named)
    }
    return list(causes.values())


def first_id(moment: datetime) -> UUID:
    """The smallest id of this time."""
    return UUID(int=max(0, int(moment.timestamp() * 1000)) << 80)


async def _list_matching(
    db: Pool, span: tuple[object, ...], query: RequestsQuery, key_hash: bytes | None
) -> list[RequestRow]:
    values = (
        query.method,
        int(query.status[0]) if query.status else 0,
        query.path,
        query.credential,
        key_hash,
        query.request_id,
        SEARCHED_REQUESTS_MAX,
    )
    return [_row(row) for row in await db.fetch(FILTERED, *span, *values)]


def _values(entry: LoggedRequest) -> tuple[object, ...]:
    """The values of `INSERT`."""
    *values, request_body, response_body = msgspec.structs.astuple(entry)
    return (*values, _packed(request_body), _packed(response_body))


def _packed(body: str | None) -> bytes | None:
    return None if body is None else pack(body.encode())


def _body(packed: bytes | None, plain: str | None) -> str | None:
    return plain if packed is None else unpack(packed).decode()


def _names(text: str, ids: Sequence[str]) -> bool:
    return any(object_id in text for object_id in ids)


def _row(row: Row) -> RequestRow:
    return RequestRow(
        id=row["id"],
        created_at=stamp(row["created_at"]),
        method=row["method"],
        path=row["path"],
        status=row["status"],
        error=row["error"],
        duration_ms=_ms(row["duration_us"]),
        credential=row["credential"],
        has_key=row["key_hash"] is not None,
        replayed=row["replayed"],
    )


def _ms(duration_us: int) -> str:
    """Microseconds as milliseconds with one decimal."""
    whole, rest = divmod((duration_us + 50) // 100, 10)
    return f"{whole:,}.{rest}"
