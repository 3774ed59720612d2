"""SQL of applications, for operators: lists, reviews and their history."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from msgspec import Struct

from tollhouse.kernel.clock import Timestamp
from tollhouse.kernel.ids import ClientId
from tollhouse.kernel.scopes import WRITES, Scopes, known
from tollhouse.oauth import clients_store
from tollhouse.pages.console.store import ACTION_COLUMNS, HistoryEntry, history_entry
from tollhouse.pages.rows import read_row
from tollhouse.platform.database.pool import Pool, Row, Tx

COLUMNS = """c.id, c.document_url, c.name, c.client_type, c.status, c.merchant_id, m.business_name, c.grant_types,
           c.device_writes_allowed_at, c.approved_at, c.verified_at, c.version,
           m.suspended_at IS NOT NULL AS owner_suspended,
           c.description, c.website_url, c.redirect_uris, c.scope_mask,
           c.created_at, c.suspended_at,
           (SELECT count(*) FROM (
                SELECT FROM oauth_grants g
                WHERE g.client_id = c.id AND g.grant_epoch = c.grant_epoch AND g.revoked_at IS NULL AND g.expires_at > $1
                LIMIT $2) AS active) AS connections,
           (SELECT count(*) FROM application_reports r WHERE r.client_id = c.id) AS reports"""
# The search text may be part of the name or the owner's name, or the id of either.
APPLICATIONS = f"""
    SELECT {COLUMNS}
    FROM oauth_clients c LEFT JOIN merchants m ON m.id = c.merchant_id
    WHERE ($3 = '' OR $3 = CASE WHEN c.status <> 'revoked' AND c.suspended_at IS NOT NULL THEN 'suspended' ELSE c.status END)
      AND ($4 = '' OR strpos(lower(c.name), lower($4)) > 0 OR c.id = $4 OR strpos(lower(m.business_name), lower($4)) > 0
           OR m.id::text = lower($4))
      AND CASE $5 WHEN 'verified' THEN c.verified_at IS NOT NULL
                  WHEN 'unverified' THEN c.verified_at IS NULL
                  WHEN 'live_writes' THEN c.scope_mask & $6 <> 0
                  WHEN 'to_approve' THEN c.scope_mask & $6 <> 0 AND c.approved_at IS NULL AND c.merchant_id IS NOT NULL
                                         AND c.status <> 'revoked'
                  WHEN 'connected' THEN EXISTS (
                       SELECT FROM oauth_grants g WHERE g.client_id = c.id AND g.grant_epoch = c.grant_epoch
                         AND g.revoked_at IS NULL AND g.expires_at > $1)
                  WHEN 'reported' THEN EXISTS (SELECT FROM application_reports r WHERE r.client_id = c.id)
                  ELSE true END
    ORDER BY c.created_at DESC, c.id DESC LIMIT $7 OFFSET $8
"""
APPLICATION = f"""
    SELECT {COLUMNS}
    FROM oauth_clients c LEFT JOIN merchants m ON m.id = c.merchant_id WHERE c.id = $3
"""
ACTIONS_OF_APPLICATION = f"""
    SELECT {ACTION_COLUMNS}, m.business_name, NULL AS email, NULL AS application, NULL AS order_kind
    FROM operator_actions a LEFT JOIN merchants m ON m.id = a.merchant_id
    WHERE a.client_id = $1 ORDER BY a.id DESC LIMIT $2
"""
CONNECTIONS_COUNTED = 1_000
"""Active connections are counted up to this number."""


Change = Literal[
    "suspend", "reactivate", "allow_device_writes", "withdraw_device_writes", "approve", "withdraw_approval", "verify",
    "withdraw_verification",
]  # fmt: skip
STATEMENTS: dict[Change, str] = {
    "suspend": clients_store.SUSPEND,
    "reactivate": clients_store.REACTIVATE,
    "allow_device_writes": clients_store.ALLOW_DEVICE_WRITES,
    "withdraw_device_writes": clients_store.WITHDRAW_DEVICE_WRITES,
    "approve": clients_store.APPROVE,
    "withdraw_approval": clients_store.WITHDRAW_APPROVAL,
    "verify": clients_store.VERIFY,
    "withdraw_verification": clients_store.WITHDRAW_VERIFICATION,
}
ApplicationStatus = Literal["enabled", "paused", "revoked", "suspended"]


class ApplicationSummary(Struct, frozen=True, kw_only=True):
    """An application. `status` is the one its owner chose, unless an operator suspended it."""

    client_id: ClientId
    name: str
    client_type: str
    status: ApplicationStatus
    merchant_id: UUID | None
    """None: the application is part of this installation, or known by a document."""
    document_url: str | None
    business_name: str | None
    owner_suspended: bool
    grant_types: list[str]
    device_writes_allowed_at: Timestamp | None
    approved_at: Timestamp | None
    verified_at: Timestamp | None
    version: int
    description: str
    website_url: str | None
    redirect_uris: list[str]
    scopes: list[str]
    created_at: Timestamp
    suspended_at: Timestamp | None
    connections: int
    """Active ones, counted up to `CONNECTIONS_COUNTED` + 1."""
    reports: int

    @property
    def writes(self) -> bool:
        """Whether it can request permissions that write."""
        return bool(known(self.scopes) & WRITES)


async def applications(
    db: Pool,
    now: datetime,
    *,
    status: str = "",
    search: str = "",
    only: str = "",
    limit: int | None = None,
    offset: int = 0,
) -> list[ApplicationSummary]:
    """Applications, newest first, with this status and of this kind, and matching this search."""
    filters = (status, search, only, WRITES.mask, limit, offset)
    return [_application(row) for row in await db.fetch(APPLICATIONS, now, CONNECTIONS_COUNTED + 1, *filters)]


async def application(db: Pool | Tx, client_id: str, now: datetime) -> ApplicationSummary | None:
    """One application."""
    known_id = clients_store.CLIENT_ID.fullmatch(client_id)
    row = await db.fetchrow(APPLICATION, now, CONNECTIONS_COUNTED + 1, client_id) if known_id else None
    return None if row is None else _application(row)


async def change(tx: Tx, statement: Change, client_id: str, *arguments: object) -> tuple[UUID | None, str] | None:
    """Run the statement of an operator's action. Returns the owner and the name; None if it changed nothing."""
    known_id = clients_store.CLIENT_ID.fullmatch(client_id)
    row = await tx.fetchrow(STATEMENTS[statement], client_id, *arguments) if known_id else None
    return None if row is None else (row["merchant_id"], row["name"])


async def actions_of_application(db: Pool, client_id: ClientId, limit: int) -> list[HistoryEntry]:
    """The actions on an application, newest first."""
    return [history_entry(row) for row in await db.fetch(ACTIONS_OF_APPLICATION, client_id, limit)]


def _application(row: Row) -> ApplicationSummary:
    suspended = row["suspended_at"] is not None and row["status"] != "revoked"
    return read_row(
        ApplicationSummary,
        row,
        client_id=ClientId(row["id"]),
        status="suspended" if suspended else row["status"],
        scopes=Scopes(row["scope_mask"]).names(),
    )
