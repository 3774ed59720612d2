"""SQL of merchants, projects and the history of operators' actions."""

from datetime import datetime
from typing import Literal
from uuid import UUID

import msgspec
from msgspec import Struct

from tollhouse.accounts.approvals.model import Approvals, OperatorAction
from tollhouse.accounts.environments.model import ProjectChanges
from tollhouse.kernel.clock import Timestamp
from tollhouse.kernel.ids import MerchantId, Mode
from tollhouse.pages.rows import read_row
from tollhouse.platform.database.pool import Pool, Row, Tx

# The search text may be part of a name or an email address, or an id.
MERCHANTS = """
    SELECT m.id, m.business_name, m.created_at, m.suspended_at FROM merchants m
    WHERE ($1 = '' OR ($1 = 'suspended') = (m.suspended_at IS NOT NULL))
      AND ($2 = '' OR strpos(lower(m.business_name), lower($2)) > 0 OR m.id::text = lower($2)
           OR EXISTS (SELECT FROM members b JOIN users u ON u.id = b.user_id
                      WHERE b.merchant_id = m.id AND b.removed_at IS NULL AND strpos(u.email_key, lower($2)) > 0))
    ORDER BY m.created_at DESC, m.id DESC LIMIT $3 OFFSET $4
"""
MERCHANT = "SELECT id, business_name, created_at, suspended_at FROM merchants WHERE id = $1"
EMAILS = """
    SELECT u.email FROM members m JOIN users u ON u.id = m.user_id
    WHERE m.merchant_id = $1 AND m.removed_at IS NULL ORDER BY m.created_at, u.id
"""
IS_MERCHANT = "SELECT true FROM merchants WHERE id = $1"
PROJECT_COLUMNS = """p.id AS project_id, p.merchant_id, m.business_name, p.mode, p.name, p.website_url, p.description,
           p.status, p.rejected_because, p.pending_changes, p.created_at, p.updated_at"""
PROJECTS = f"""
    SELECT {PROJECT_COLUMNS}
    FROM projects p JOIN merchants m ON m.id = p.merchant_id
    WHERE $1 = '' OR p.status = $1 OR ($1 = 'in_review' AND p.pending_changes IS NOT NULL)
    ORDER BY p.created_at DESC, p.id DESC LIMIT $2 OFFSET $3
"""
PROJECTS_OF_MERCHANT = f"""
    SELECT {PROJECT_COLUMNS}
    FROM projects p JOIN merchants m ON m.id = p.merchant_id
    WHERE p.merchant_id = $1 ORDER BY p.created_at DESC, p.id DESC LIMIT $2
"""
PROJECT = f"""
    SELECT {PROJECT_COLUMNS}
    FROM projects p JOIN merchants m ON m.id = p.merchant_id WHERE p.id = $1
"""
STATUS = "SELECT status FROM projects WHERE id = $1"
LOCK_PROJECT = """
    SELECT merchant_id, mode, status, pending_changes IS NOT NULL AS has_changes, updated_at
    FROM projects WHERE id = $1 FOR NO KEY UPDATE
"""
# Approvals count for the current version of the project: after a change by its merchant it must be approved again.
APPROVALS = """
    SELECT a.operator, a.on_command_line FROM operator_actions a JOIN projects p ON p.id = a.subject_id
    WHERE a.merchant_id = p.merchant_id AND a.subject_id = $1 AND a.action = 'project_approval_given'
      AND a.at >= p.updated_at
    ORDER BY a.at, a.id
"""
SUM_ADJUSTED = """
    SELECT coalesce(sum(amount_minor), 0)::bigint FROM operator_actions
    WHERE merchant_id = $1 AND action = 'balance_adjusted' AND mode = 'live' AND currency = $2 AND amount_minor > 0
      AND at > $3
"""
ACTION_COLUMNS = """a.id AS action_id, a.operator, a.action, a.merchant_id, a.mode, a.subject_id, a.reason, a.currency,
           a.amount_minor, a.at, a.client_id, a.on_command_line, a.single_operator"""
# Ids are in order of time.
ACTIONS = f"""
    SELECT {ACTION_COLUMNS}, m.business_name, o.email, c.name AS application, t.kind AS order_kind
    FROM operator_actions a
    LEFT JOIN outgoing_transfers t ON t.id = a.subject_id AND t.rail <> 'bank'
    LEFT JOIN merchants m ON m.id = a.merchant_id
    LEFT JOIN oauth_clients c ON c.id = a.client_id
    LEFT JOIN operators o ON a.merchant_id IS NULL AND o.id = a.subject_id
    ORDER BY a.id DESC LIMIT $1 OFFSET $2
"""
ACTION = f"""
    SELECT {ACTION_COLUMNS}, NULL AS business_name, NULL AS email, NULL AS application, NULL AS order_kind
    FROM operator_actions a WHERE a.id = $1
"""
ACTIONS_OF_MERCHANT = f"""
    SELECT {ACTION_COLUMNS}, m.business_name, NULL AS email, NULL AS application, NULL AS order_kind
    FROM operator_actions a JOIN merchants m ON m.id = a.merchant_id
    WHERE a.merchant_id = $1 ORDER BY a.at DESC, a.id DESC LIMIT $2
"""
ACTIONS_ABOUT = f"""
    SELECT {ACTION_COLUMNS}, m.business_name, NULL AS email, NULL AS application, NULL AS order_kind
    FROM operator_actions a JOIN merchants m ON m.id = a.merchant_id
    WHERE a.merchant_id = $1 AND a.subject_id = $2 ORDER BY a.at DESC, a.id DESC LIMIT $3
"""
CHANGES = msgspec.json.Decoder(ProjectChanges)


MerchantStatus = Literal["active", "suspended"]


class Merchant(Struct, frozen=True):
    """A merchant."""

    merchant_id: UUID
    business_name: str
    status: MerchantStatus
    created_at: Timestamp
    suspended_at: Timestamp | None


class ProjectSummary(Struct, frozen=True):
    """A project."""

    project_id: UUID
    merchant_id: UUID
    business_name: str
    mode: Mode
    name: str
    website_url: str | None
    description: str | None
    status: str
    rejected_because: str | None
    pending_changes: ProjectChanges | None
    created_at: Timestamp
    updated_at: Timestamp


class HistoryEntry(Struct, frozen=True):
    """An action in the history with the name of the merchant, operator or application it concerns.

    `order_kind` is that of a payout by any rail but the bank; None for a payout by bank.
    """

    action: OperatorAction
    business_name: str | None
    email: str | None
    application: str | None = None
    order_kind: str | None = None


async def merchants(
    db: Pool, *, status: str = "", search: str = "", limit: int | None = None, offset: int = 0
) -> list[Merchant]:
    """Merchants, newest first, with this status and matching this search."""
    return [_merchant(row) for row in await db.fetch(MERCHANTS, status, search, limit, offset)]


async def merchant(db: Pool, merchant_id: UUID) -> Merchant | None:
    """One merchant."""
    row = await db.fetchrow(MERCHANT, merchant_id)
    return None if row is None else _merchant(row)


async def emails_of(db: Pool, merchant_id: MerchantId) -> list[str]:
    """The email addresses of a merchant's users."""
    return [row["email"] for row in await db.fetch(EMAILS, merchant_id)]


async def is_merchant(tx: Tx, merchant_id: UUID) -> bool:
    """Whether the merchant exists."""
    return bool(await tx.fetchval(IS_MERCHANT, merchant_id))


async def projects(db: Pool, *, status: str = "", limit: int | None = None, offset: int = 0) -> list[ProjectSummary]:
    """Projects with this status, newest first."""
    return [_project(row) for row in await db.fetch(PROJECTS, status, limit, offset)]


async def projects_of(db: Pool, merchant_id: MerchantId, limit: int) -> list[ProjectSummary]:
    """A merchant's projects, newest first."""
    return [_project(row) for row in await db.fetch(PROJECTS_OF_MERCHANT, merchant_id, limit)]


async def project(db: Pool | Tx, project_id: UUID) -> ProjectSummary | None:
    """One project."""
    row = await db.fetchrow(PROJECT, project_id)
    return None if row is None else _project(row)


async def status_of(tx: Tx, project_id: UUID) -> str | None:
    """The status of a project; None if there is none."""
    return await tx.fetchval(STATUS, project_id)


async def lock_project(tx: Tx, project_id: UUID) -> Row | None:
    """Lock a project. Returns its merchant, mode, status, whether it has pending changes, and the time of the last one."""
    return await tx.fetchrow(LOCK_PROJECT, project_id)


async def approvals(tx: Tx, project_id: UUID, needed: int) -> Approvals:
    """The approvals of the current version of a project."""
    rows = await tx.fetch(APPROVALS, project_id)
    given = tuple(row["operator"] for row in rows)
    return Approvals(given, sum(row["on_command_line"] for row in rows), needed)


async def sum_adjusted(tx: Tx, merchant_id: MerchantId, currency: str, since: datetime) -> int:
    """What adjustments have given a merchant in live mode since then."""
    return await tx.fetchval(SUM_ADJUSTED, merchant_id, currency, since)


async def list_actions(db: Pool, limit: int, offset: int) -> list[HistoryEntry]:
    """The history, newest first."""
    return [history_entry(row) for row in await db.fetch(ACTIONS, limit, offset)]


async def action(db: Pool, action_id: UUID) -> HistoryEntry | None:
    """One action, without the names of its subjects."""
    row = await db.fetchrow(ACTION, action_id)
    return None if row is None else history_entry(row)


async def actions_of_merchant(db: Pool, merchant_id: MerchantId, limit: int) -> list[HistoryEntry]:
    """The actions on a merchant and its objects, newest first."""
    return [history_entry(row) for row in await db.fetch(ACTIONS_OF_MERCHANT, merchant_id, limit)]


async def actions_about(db: Pool, merchant_id: UUID, subject_id: UUID, limit: int) -> list[HistoryEntry]:
    """The actions on one object of a merchant, newest first."""
    return [history_entry(row) for row in await db.fetch(ACTIONS_ABOUT, merchant_id, subject_id, limit)]


def _merchant(row: Row) -> Merchant:
    return read_row(Merchant, row, merchant_id=row["id"], status="suspended" if row["suspended_at"] else "active")


def _project(row: Row) -> ProjectSummary:
    pending = None if row["pending_changes"] is None else CHANGES.decode(row["pending_changes"])
    return read_row(ProjectSummary, row, pending_changes=pending)


def history_entry(row: Row) -> HistoryEntry:
    """A row of the history."""
    return read_row(HistoryEntry, row, action=read_row(OperatorAction, row))
