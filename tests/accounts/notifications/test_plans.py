"""With many notifications of one merchant, list and unread count walk the inbox by its index, and look up what was read.

Those of a colleague alone are not passed over.
"""

from uuid import UUID

import asyncpg
import msgspec
import pytest

from tests.cast import Actor, member
from tests.pages.dashboard.test_overview_plans import nodes
from tollhouse.accounts.notifications import store
from tollhouse.accounts.notifications.model import inbox_of
from tollhouse.kernel.ids import MerchantId, UserId

FILLED = """
    INSERT INTO notifications (id, merchant_id, mode, kind, event, occasion, facts, created_at)
    SELECT gen_random_uuid(), $1, 'live', CASE WHEN n % 9 > 0 THEN 'refund_failed' ELSE 'dispute_opened' END,
           'refund_failed',
           n::text, '{}', now() + n * interval '1 minute'
    FROM generate_series(1, 20000) AS n;
"""
OF_COLLEAGUE = """
    INSERT INTO notifications (id, merchant_id, mode, kind, event, user_id, occasion, facts, created_at)
    SELECT gen_random_uuid(), $1, 'both', 'new_device', 'new_device', $2, n::text, '{}', now() + n * interval '1 second'
    FROM generate_series(1, 20000) AS n
"""
READ = """
    INSERT INTO notification_reads (merchant_id, notification_id, user_id)
    SELECT merchant_id, id, $2 FROM notifications
    WHERE merchant_id = $1 AND kind <> 'new_device' AND occasion::int > 18000
"""
ROW = """
    INSERT INTO notifications (id, merchant_id, mode, kind, event, user_id, occasion, facts, created_at)
    VALUES (gen_random_uuid(), $1::uuid, 'both', $2, $2, $3, 'one', '{}', now())
"""
USER = "SELECT id FROM users WHERE email = $1"
ANALYZED = "ANALYZE notifications, notification_reads"
PAGE = "'1970-01-01Z', '3000-01-01Z', 'ffffffff-ffff-ffff-ffff-ffffffffffff', 21, 0"


@pytest.mark.long
@pytest.mark.parametrize(
    ("statement", "values", "mode"),
    [
        (store.LIST, f"false, {PAGE}", "force_custom_plan"),
        (store.LIST, f"true, {PAGE}", "force_custom_plan"),
        (store.COUNT_UNREAD, "100", "force_custom_plan"),
        (store.COUNT_UNREAD, "100", "force_generic_plan"),
    ],
    ids=["all", "unread", "count", "count for all"],
)
async def test_an_inbox_is_walked_by_its_index(alice: Actor, statement: str, values: str, mode: str) -> None:
    raw = await asyncpg.connect(alice.service.dsn)
    async with member(alice, "support") as colleague:
        [user, other] = [(await alice.sql(USER, one.email))[0] for one in (alice, colleague)]
    merchant = UUID(alice.merchant_id)
    inbox = inbox_of(MerchantId(merchant), UserId(user["id"]), "owner", "live")
    kinds, modes = (f"ARRAY{names}" for names in (inbox.kinds, inbox.modes))
    try:
        await raw.execute("BEGIN")
        await raw.execute(FILLED.replace("$1", f"'{merchant}'"))
        await raw.execute(READ.replace("$1", f"'{merchant}'").replace("$2", f"'{user['id']}'"))
        await raw.execute(OF_COLLEAGUE.replace("$1", f"'{merchant}'").replace("$2", f"'{other['id']}'"))
        await raw.execute(ANALYZED)
        await raw.execute(f"SET LOCAL plan_cache_mode = {mode}")
        await raw.execute(f"PREPARE said AS {statement}")
        said = f"EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE said('{merchant}', '{user['id']}', {kinds}, {modes}, {values})"
        plan = msgspec.json.decode(await raw.fetchval(said))[0]["Plan"]
    finally:
        await raw.close()
    looks = {node.get("Index Name"): node for node in nodes(plan) if "notification" in node.get("Relation Name", "")}
    assert looks.keys() - {"notification_marks_pkey", None} == {"notifications_of_reader", "notification_reads_pkey"}, plan
    assert not [node for node in nodes(plan) if "Hash" in node["Node Type"] or node["Node Type"] == "Merge Join"]
    read = looks["notifications_of_reader"]
    rows = read["Actual Rows"] + read.get("Rows Removed by Filter", 0)
    assert rows * read["Actual Loops"] < 4000, "what was read is passed over, and no more"


async def test_a_notification_of_a_new_device_is_for_one_person(alice: Actor) -> None:
    """And no other one is: the index has the rows of a person apart by their kind."""
    for kind, user_id in (("new_device", None), ("member_changed", (await alice.sql(USER, alice.email))[0]["id"])):
        with pytest.raises(asyncpg.CheckViolationError, match="notifications_of_one"):
            await alice.sql(ROW, alice.merchant_id, kind, user_id)
