"""SQL of saved recipients, and of the setting that money leaves only to them."""

from datetime import datetime
from uuid import UUID

from tollhouse.http.lists import ListQuery, Window
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.platform.database.pool import Pool, Row, Tx
from tollhouse.transfers.gate.model import RECIPIENT, RecipientRule, SavedRecipient
from tollhouse.transfers.orders.store import fetch_page

INSERT = f"{RECIPIENT.insert} ON CONFLICT (merchant_id, mode, method_id, account) DO NOTHING"
ID_BY_ACCOUNT = """
    SELECT id FROM withdrawal_recipients WHERE merchant_id = $1 AND mode = $2 AND method_id = $3 AND account = $4
"""
COUNT = "SELECT count(*) FROM withdrawal_recipients WHERE merchant_id = $1 AND mode = $2"
GET = f"SELECT {RECIPIENT.columns} FROM withdrawal_recipients WHERE merchant_id = $1 AND mode = $2 AND id = $3"
LIST = f"""
    SELECT {RECIPIENT.columns} FROM withdrawal_recipients
    WHERE merchant_id = $1 AND mode = $2 AND ($3::text IS NULL OR method_id = $3)
      AND created_at >= $4 AND (created_at, id) < ($5, $6)
    ORDER BY created_at DESC, id DESC LIMIT $7 OFFSET $8
"""
DELETE = f"""
    DELETE FROM withdrawal_recipients WHERE merchant_id = $1 AND mode = $2 AND id = $3 RETURNING {RECIPIENT.columns}
"""
DELETE_OF_MERCHANT = "DELETE FROM withdrawal_recipients WHERE merchant_id = $1"
# In the order of every transfer: before balances.
LOCK_SECOND_MEMBER_RULES = """
    SELECT currency FROM second_member_rules WHERE merchant_id = $1 ORDER BY currency FOR NO KEY UPDATE
"""
# No row: money may leave to anyone. `active_at` is when this account can be paid; null if it is not saved.
GET_OBSTACLE = """
    SELECT e.present, (e.present AT TIME ZONE 'UTC')::date AS today, s.merchant_id IS NOT NULL AS is_limited,
           destinations_wait_until($1, $2, $3, $4, $5, $5) AS waits_until,
           EXISTS (SELECT FROM second_member_rules m
                   WHERE m.merchant_id = $1 AND m.above_minor IS NOT NULL) AS has_second_members,
           (SELECT min(r.active_at) FROM withdrawal_recipients r
            WHERE (r.merchant_id, r.mode, r.rail, r.account) = (s.merchant_id, s.mode, $3, $4)) AS active_at
    FROM (SELECT time_of_environment($1, $2, $5) AS present) e
    LEFT JOIN withdrawal_settings s ON s.merchant_id = $1 AND s.mode = $2 AND s.saved_recipients_only
                                       AND (s.turns_off_at IS NULL OR s.turns_off_at > e.present)
"""
GET_RULE = "SELECT saved_recipients_only, turns_off_at FROM withdrawal_settings WHERE merchant_id = $1 AND mode = $2"
# No row where nothing changes.
TURN_ON = """
    INSERT INTO withdrawal_settings AS s (merchant_id, mode, saved_recipients_only, updated_at) VALUES ($1, $2, true, $3)
    ON CONFLICT (merchant_id, mode) DO UPDATE SET saved_recipients_only = true, turns_off_at = NULL, updated_at = $3
    WHERE NOT s.saved_recipients_only OR s.turns_off_at IS NOT NULL
"""
TURN_OFF = """
    UPDATE withdrawal_settings SET turns_off_at = $4, updated_at = $3
    WHERE merchant_id = $1 AND mode = $2 AND saved_recipients_only AND turns_off_at IS NULL
"""


class RecipientsQuery(ListQuery, frozen=True):
    """Filters of GET /withdrawal-recipients."""

    method_id: str | None = None


async def insert(tx: Tx, new: SavedRecipient) -> bool:
    """Insert a recipient; False if one of its method has the same account."""
    return await tx.execute(INSERT, *RECIPIENT.values(new)) == 1


async def id_by_account(db: Pool | Tx, env: MerchantEnv, method_id: str, account: str) -> UUID | None:
    """The recipient of a method with this account."""
    row = await db.fetchrow(ID_BY_ACCOUNT, env.merchant_id, env.mode, method_id, account)
    return None if row is None else row["id"]


async def count(tx: Tx, env: MerchantEnv) -> int:
    """The number of recipients of an environment."""
    return await tx.fetchval(COUNT, env.merchant_id, env.mode)


async def get(db: Pool | Tx, env: MerchantEnv, recipient_id: UUID) -> SavedRecipient:
    """A recipient. Raises `NotFound`."""
    return await RECIPIENT.get(db, GET, env.merchant_id, env.mode, recipient_id)


async def list_recipients(db: Pool, env: MerchantEnv, query: RecipientsQuery, window: Window) -> list[SavedRecipient]:
    """A page of recipients, newest first."""
    return await fetch_page(db, RECIPIENT.read, LIST, window, env.merchant_id, env.mode, query.method_id)


async def delete(tx: Tx, env: MerchantEnv, recipient_id: UUID) -> SavedRecipient:
    """Delete a recipient, and return it. Raises `NotFound`."""
    return await RECIPIENT.get(tx, DELETE, env.merchant_id, env.mode, recipient_id)


async def delete_of_merchant(tx: Tx, merchant_id: MerchantId) -> int:
    """Delete the recipients of a merchant in both modes. Returns their number."""
    return await tx.execute(DELETE_OF_MERCHANT, merchant_id)


async def get_obstacle(tx: Tx, env: MerchantEnv, rail: str, account: str, now: datetime) -> Row:
    """The environment's present and day, whether money leaves only to saved recipients, and when this one can be paid.

    `waits_until`: how long money to it waits after a change of an address.
    """
    row = await tx.read_row(GET_OBSTACLE, env.merchant_id, env.mode, rail, account, now)
    if row is None:
        raise AssertionError("the statement has one row")
    return row


async def lock_second_member_rules(tx: Tx, env: MerchantEnv) -> None:
    """Lock what needs a second member: of two transfers at once, the second one counts the first."""
    await tx.fetch(LOCK_SECOND_MEMBER_RULES, env.merchant_id)


async def get_rule(db: Pool | Tx, env: MerchantEnv) -> RecipientRule:
    """The rule of an environment, also one that has ended."""
    row = await db.fetchrow(GET_RULE, env.merchant_id, env.mode)
    return RecipientRule() if row is None else RecipientRule(row["saved_recipients_only"], row["turns_off_at"])


async def turn_on(tx: Tx, env: MerchantEnv, now: datetime) -> bool:
    """Let money leave only to saved recipients. False if that is so already."""
    return await tx.execute(TURN_ON, env.merchant_id, env.mode, now) == 1


async def turn_off(tx: Tx, env: MerchantEnv, now: datetime, at: datetime) -> bool:
    """End that at this time. False if it ends already, or is off."""
    return await tx.execute(TURN_OFF, env.merchant_id, env.mode, now, at) == 1
