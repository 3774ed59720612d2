"""What the doctor says of the database, and the command that prints it all."""

from datetime import timedelta
from pathlib import Path

import asyncpg
import msgspec
import pytest

from tests.command import tollhouse
from tests.running import KEY, Service, free_port, migrated_database, new_database
from tollhouse.instance.database import embedded
from tollhouse.instance.doctor.database import compare_clocks, examine_database
from tollhouse.instance.doctor.model import Finding
from tollhouse.kernel import clock
from tollhouse.platform.settings.config import Settings, load

SIGN_INS = """
    INSERT INTO sessions (id_hash, user_id, created_at, last_seen_at, expires_at, address)
    SELECT decode(lpad(to_hex(n), 64, '0'), 'hex'), gen_random_uuid(), now(), now(), now(), '10.0.0.7'
    FROM generate_series(1, 5) n
"""
MEASURED = """
    INSERT INTO rail_health (rail, mode, available, reason, facts, checked_at)
    VALUES ('ethereum', 'live', $1::text IS NULL, $1, '{"tip": 7}', now())
    ON CONFLICT (rail, mode) DO UPDATE SET reason = $1
"""
OPERATOR = """
    WITH new AS (INSERT INTO operators (id, email, email_key, created_at) VALUES (gen_random_uuid(), $1, $1, now())
                 RETURNING id)
    INSERT INTO second_factors (holder_id, key_id, nonce, ciphertext, created_at, confirmed_at)
    SELECT id, 'k1', '\\x000000000000000000000000', '\\x00', now(), now() FROM new
"""
PAYOUTS_MEASURED = """
    INSERT INTO chain_payout_health (rail, mode, reason, currencies_down, facts, checked_at)
    VALUES ('ethereum', 'live', $1, $2, '{}', now())
    ON CONFLICT (rail, mode) DO UPDATE SET reason = $1, currencies_down = $2
"""


NEXT_PARTITION = """
    SELECT name || '_' || to_char(partition_start(step, now() + interval '1 hour'), suffix) FROM partitioned_tables
    ORDER BY name LIMIT 1
"""


def settings_of(dsn: str, **more: str) -> Settings:
    return load({"DATABASE_URL": dsn, "TOLLHOUSE_SECRET_KEYS": KEY, **more})


def by_check(findings: list[Finding]) -> dict[str, Finding]:
    return {finding.check: finding for finding in findings}


@pytest.fixture(scope="module")
async def dsn(server: embedded.Server) -> str:
    """A database without worker."""
    return await migrated_database(server.cluster.dsn)


async def test_passkeys_of_another_host(server: embedded.Server) -> None:
    dsn = await migrated_database(server.cluster.dsn)
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(
            "INSERT INTO passkeys (id, holder_id, holder_kind, rp_id, credential_id, public_key, sign_count, transports, "
            "backup_eligible, backed_up, name, created_at) VALUES (gen_random_uuid(), gen_random_uuid(), 'person', "
            "'old.example', 'x', '', 0, '{}', false, false, 'Laptop', now())"
        )
    finally:
        await connection.close()
    found = by_check(await examine_database(settings_of(dsn, TOLLHOUSE_BASE_URL="https://new.example")))
    assert found["passkeys"].status == "warning"
    assert "passkeys" not in by_check(await examine_database(settings_of(dsn, TOLLHOUSE_BASE_URL="https://old.example")))


async def test_a_new_database_without_worker(dsn: str) -> None:
    found = by_check(await examine_database(settings_of(dsn)))
    assert {check: finding.status for check, finding in found.items()} == {
        "database": "ok",
        "clock": "ok",
        "durability": "failure",  # the server of the tests waits for no disk
        "schema": "ok",
        "key_ring": "ok",
        "partitions": "ok",  # the migration made those of the next hours
        "worker": "failure",
        "ledger": "warning",
        "proxy": "ok",
        "bank": "ok",
    }
    assert found["durability"].message.endswith("fsync, full_page_writes is off.")


async def test_partitions_that_nobody_made_are_a_failure(server: embedded.Server) -> None:
    dsn = await migrated_database(server.cluster.dsn)
    connection = await asyncpg.connect(dsn)
    await connection.execute(f"DROP TABLE {await connection.fetchval(NEXT_PARTITION)}")
    await connection.close()
    found = by_check(await examine_database(settings_of(dsn)))["partitions"]
    assert (found.status, found.message) == ("failure", "Partitions of the next hour are missing.")


async def test_a_rail_that_is_down_is_named(dsn: str, tmp_path: Path) -> None:
    rails = tmp_path / "rails.toml"
    rails.write_text('[ethereum]\nkind = "evm"\nchain_id = 1\n')
    settings = settings_of(dsn, TOLLHOUSE_RAILS_FILE=str(rails))

    async def found() -> tuple[str, str]:
        finding = by_check(await examine_database(settings))["rail ethereum"]
        return finding.status, finding.message

    assert await found() == ("failure", "No worker measures it, so it takes no payments.")
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(MEASURED, "the newest block is too old")
        assert await found() == ("failure", "It takes no payments: the newest block is too old.")
        await connection.execute(MEASURED, None)
        assert await found() == ("ok", "Measured at block 7.")
        await connection.execute(PAYOUTS_MEASURED, "the signer does not answer", [])
        assert await found() == ("warning", "Payouts wait: the signer does not answer.")
        await connection.execute(PAYOUTS_MEASURED, None, ["USDC"])
        assert await found() == ("warning", "The wallet has too little USDC.")
    finally:
        await connection.close()


async def test_a_wrong_clock_is_a_failure(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = clock.now
    monkeypatch.setattr(clock, "now", lambda: real() + timedelta(minutes=5))
    found = by_check(await examine_database(settings_of(dsn)))["clock"]
    assert (found.status, "differ by 29" in found.message or "differ by 30" in found.message) == ("failure", True)


@pytest.mark.parametrize(
    ("offset_s", "status"), [(0, "ok"), (1.9, "ok"), (2, "warning"), (-29, "warning"), (-30, "failure")]
)
def test_clocks_may_differ_by_the_time_of_the_answer(offset_s: float, status: str) -> None:
    before = clock.now()
    after = before + timedelta(seconds=4)  # a slow answer says little
    at = after if offset_s > 0 else before
    assert compare_clocks(before, at + timedelta(seconds=offset_s), after).status == status


async def test_a_wrong_key_ring_is_a_failure_and_nothing_is_written(dsn: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        assert await connection.fetchval("SELECT count(*) FROM secret_keys") == 0
        await connection.execute(
            "INSERT INTO secret_keys (key_id, check_value, created_at) VALUES ('test', $1, now())", bytes(16)
        )
        found = by_check(await examine_database(settings_of(dsn)))["key_ring"]
        assert (found.status, "test is not the key" in found.message) == ("failure", True)
    finally:
        await connection.execute("DELETE FROM secret_keys")
        await connection.close()


async def test_a_proxy_that_hides_its_clients_is_a_warning(dsn: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute("SET session_replication_role = replica")  # sessions of nobody
        await connection.execute(SIGN_INS)
        found = by_check(await examine_database(settings_of(dsn, TOLLHOUSE_BASE_URL="https://pay.example")))["proxy"]
        assert (found.status, "All 5 sign-ins" in found.message, "10.0.0.7" in found.message) == ("warning", True, True)
        assert by_check(await examine_database(settings_of(dsn)))["proxy"].status == "ok"
    finally:
        await connection.execute("DELETE FROM sessions")
        await connection.close()


async def test_a_schema_of_another_version_ends_the_examination(server: embedded.Server) -> None:
    findings = await examine_database(settings_of(await new_database(server.cluster.dsn)))
    assert (findings[-1].check, findings[-1].status) == ("schema", "failure")
    assert "tollhouse migrate" in findings[-1].advice


async def test_a_database_that_is_not_there_is_a_failure_without_its_password() -> None:
    [found] = await examine_database(settings_of(f"postgresql://a:hunter2@127.0.0.1:{free_port()}/none"))
    assert (found.check, found.status) == ("database", "failure")
    assert "hunter2" not in found.message


async def test_the_command_prints_every_check(service: Service, tmp_path: Path) -> None:
    outcome = await tollhouse(service, "doctor", "--json", TOLLHOUSE_BASE_URL=service.url, TOLLHOUSE_DATA_DIR=str(tmp_path))
    findings = msgspec.convert(outcome.json["findings"], list[Finding])
    assert (outcome.status, outcome.json["healthy"]) == (1, False)  # see durability above
    assert {"configuration", "files", "dns", "base_url", "mail", "database", "worker"} <= by_check(findings).keys()
    assert KEY not in outcome.out
    lines = (await tollhouse(service, "doctor", TOLLHOUSE_BASE_URL=service.url, TOLLHOUSE_DATA_DIR=str(tmp_path))).out
    assert "ok       configuration  All settings are valid.\n" in lines


async def test_the_command_needs_no_database(service: Service, tmp_path: Path) -> None:
    outcome = await tollhouse(service, "doctor", "--json", DATABASE_URL="", TOLLHOUSE_DATA_DIR=str(tmp_path / "new"))
    found = by_check(msgspec.convert(outcome.json["findings"], list[Finding]))
    assert (found["database"].status, found["files"].status) == ("warning", "warning")
    assert not (tmp_path / "new").exists()
    wrong = await tollhouse(service, "doctor", TOLLHOUSE_SIGNUP="maybe")
    assert (wrong.status, "TOLLHOUSE_SIGNUP must be open or closed" in wrong.out) == (1, True)


async def test_two_operators_are_counted_in_live_use(dsn: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        for count, live, alone in ((0, "warning", "ok"), (1, "warning", "ok"), (2, "ok", "ok")):
            if count:
                await connection.execute(OPERATOR, f"olga-{count}@house.example")
            found = by_check(await examine_database(settings_of(dsn, TOLLHOUSE_BASE_URL="https://pay.example")))["operators"]
            assert found.status == live
            assert ("operator users create" in found.advice and "TOLLHOUSE_TWO_OPERATORS=off" in found.advice) == (
                live != "ok"
            )
            single = settings_of(dsn, TOLLHOUSE_BASE_URL="https://pay.example", TOLLHOUSE_TWO_OPERATORS="off")
            assert by_check(await examine_database(single))["operators"].status == alone
    finally:
        await connection.close()
