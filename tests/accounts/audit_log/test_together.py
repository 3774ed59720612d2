"""A deed and its line are one: neither is there without the other, and a line is there for good."""

from uuid import UUID, uuid4

import asyncpg
import msgspec
import pytest

from tests.accounts.audit_log.reading import actions_listed, lines
from tests.cast import Actor
from tests.running import KEY
from tests.transfers.withdrawals.steps import TO_NINA, fund, withdraw
from tollhouse.accounts.audit import record
from tollhouse.accounts.audit.model import changes, new_values
from tollhouse.accounts.audit.slice import delete_old_events
from tollhouse.instance import main
from tollhouse.kernel import actor, clock
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId, new_id
from tollhouse.platform.settings import config
from tollhouse.platform.settings.config import InvalidSettingsError
from tollhouse.transfers.withdrawals import actions as withdrawals
from tollhouse.transfers.withdrawals.new_withdrawal import NewWithdrawal

SHUT = "ALTER TABLE audit_lines ADD CONSTRAINT shut CHECK (deed <> 'withdrawal.requested') NOT VALID"
OPEN = "ALTER TABLE audit_lines DROP CONSTRAINT shut"
FOR_EVER = {"TOLLHOUSE_AUDIT_KEPT_DAYS": "0", "TOLLHOUSE_SECRET_KEYS": KEY}
AGED = """
    INSERT INTO audit_lines (merchant_id, id, created_at, deed, author_kind, author)
    SELECT $1::uuid, gen_random_uuid(), now() - make_interval(days => n), 'session.begun', 'person', 'x'
    FROM unnest($2::int[]) AS n
"""


async def test_an_action_whose_line_cannot_be_written_is_not_done(alice: Actor) -> None:
    await fund(alice)
    services = alice.service.create_services()
    env, new = MerchantEnv(MerchantId(UUID(alice.merchant_id)), "test"), msgspec.convert(TO_NINA, NewWithdrawal)
    await alice.sql(SHUT)
    try:
        with pytest.raises(asyncpg.CheckViolationError, match="shut"):
            await services.transact(lambda work: withdrawals.request(work, env, new), clock.now())
    finally:
        await alice.sql(OPEN)
        await services.db.close()
    assert (await alice.get("/balances/EUR")).ok().body["available_minor"] == 10_000
    assert (await alice.get("/withdrawals")).ok().body["withdrawals"] == []
    assert await actions_listed(alice) == ["api_key.made"]


async def test_an_action_that_is_refused_or_repeated_has_no_line(alice: Actor) -> None:
    await fund(alice)
    key = str(uuid4())
    for _ in range(3):
        (await withdraw(alice, {"external_id": "w-1"}, key=key)).ok(201)
    (await withdraw(alice, {"external_id": "w-1"})).refused("duplicate_external_id")
    (await withdraw(alice, {"amount": "5000.00"})).refused("insufficient_funds")
    (await alice.dashboard("PUT", f"/projects/{new_id()}", {"name": "Nobody's"})).refused("not_found")
    assert await actions_listed(alice) == ["api_key.made", "withdrawal.requested"]


async def test_lines_are_rewritten_by_nobody_and_kept_a_year(alice: Actor) -> None:
    await alice.sql(AGED, alice.merchant_id, [364, 366])
    for statement in (
        "UPDATE audit_lines SET address = '192.0.2.1' WHERE merchant_id = $1::uuid",
        "DELETE FROM audit_lines WHERE merchant_id = $1::uuid",
    ):
        with pytest.raises(asyncpg.IntegrityConstraintViolationError, match="audit_lines"):
            await alice.sql(statement, alice.merchant_id)
    with pytest.raises(asyncpg.IntegrityConstraintViolationError):
        await alice.sql("TRUNCATE audit_lines")
    assert len(await lines(alice)) == 3


async def test_what_was_kept_long_enough_is_forgotten(alice: Actor) -> None:
    await alice.sql(AGED, alice.merchant_id, [400, 729, 731, 5000])
    services = alice.service.create_services()
    await delete_old_events(services)
    assert len(await lines(alice)) == 3
    forever = main.create_services(config.load({"DATABASE_URL": alice.service.dsn, **FOR_EVER}))
    await alice.sql(AGED, alice.merchant_id, [5000])
    await delete_old_events(forever)
    assert len(await lines(alice)) == 4
    for one in (services, forever):
        await one.db.close()


def test_a_log_is_kept_a_year_at_least() -> None:
    with pytest.raises(InvalidSettingsError, match="at least 365"):
        config.load(FOR_EVER | {"TOLLHOUSE_AUDIT_KEPT_DAYS": "364"})
    assert config.load(FOR_EVER | {"TOLLHOUSE_AUDIT_KEPT_DAYS": "365"}).audit_kept_days == 365


async def test_an_author_has_a_name_where_one_is_known(alice: Actor) -> None:
    services = alice.service.create_services()
    merchant_id = MerchantId(new_id())
    for by in (actor.Actor("person"), actor.Actor("operator", "olga")):
        with pytest.raises(asyncpg.CheckViolationError, match="audit_lines_author"):
            await services.transact(lambda work, by=by: record.event(work, merchant_id, "session.begun", by=by), clock.now())
    with pytest.raises(asyncpg.ForeignKeyViolationError):
        await services.transact(lambda work: record.event(work, merchant_id, "session.begun"), clock.now())
    await services.db.close()


def test_values_that_may_be_secret_are_cut() -> None:
    assert new_values(url="https://nina:pw@shop.example/a?b=c#d", webhook_url="https://shop.example/hook", none=None) == {
        "url": (None, "https://shop.example/a…"),
        "webhook_url": (None, "https://shop.example…"),
    }
    assert new_values(webhook_url="https://shop.example/", name="x" * 300)["name"] == (None, "x" * 199 + "…")
    assert new_values(webhook_url="https://shop.example/")["webhook_url"] == (None, "https://shop.example")
    assert changes({"a": 1, "b": {"c": True}, "d": ["x"]}, {"a": 1, "b": {"c": False}, "e": 2}) == {
        "b.c": (True, False),
        "d": (["x"], None),
        "e": (None, 2),
    }
