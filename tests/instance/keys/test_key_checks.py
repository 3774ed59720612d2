"""A lost or wrong key is noticed at start, refused with what to do, and never replaced in silence."""

import asyncio
from pathlib import Path

import asyncpg
import msgspec
import pytest

from tests.cast import sign_up
from tests.journeys.test_get_paid import activate_secret
from tests.running import Service, migrated_database, settings_for
from tollhouse.instance import main, start_checks
from tollhouse.instance.database import data_folder, embedded
from tollhouse.instance.supervisor import new_key, with_keys
from tollhouse.platform.settings import config
from tollhouse.platform.settings.config import InvalidSettingsError, Settings
from tollhouse.platform.settings.values import key_ring

OLD, NEW, OTHER = (new_key(name) for name in ("old", "new", "other"))
WRONG = new_key("old")


@pytest.fixture
async def used(server: embedded.Server) -> Settings:
    """Settings of a database in which a signing secret is encrypted under `old`."""
    dsn = await migrated_database(server.cluster.dsn)
    settings = settings_for(dsn, TOLLHOUSE_SECRET_KEYS=OLD)
    with Service(settings, worker=False) as running:
        async with sign_up(running, "alice", "Alice's Coffee", keep_alive=False) as alice:
            await activate_secret(alice)
    await main.verify(settings)
    return settings


def with_ring(settings: Settings, ring: str) -> Settings:
    """The same settings with another ring."""
    return msgspec.structs.replace(settings, secret_keys=key_ring(ring))


async def refused(settings: Settings) -> str:
    """What the start says."""
    with pytest.raises(InvalidSettingsError) as raised:
        await main.verify(settings)
    return " ".join(raised.value.field_errors)


async def test_the_right_ring_starts_and_so_does_a_rotated_one(used: Settings) -> None:
    await main.verify(used)
    await main.verify(with_ring(used, f"{NEW},{OLD}"))


async def test_another_key_of_the_same_id_is_refused(used: Settings) -> None:
    assert "old is not the key" in await refused(with_ring(used, WRONG))
    await main.verify(used)


async def test_a_missing_key_is_refused_until_it_is_given_up(used: Settings) -> None:
    without = with_ring(used, NEW)
    assert "tollhouse keys forget old" in await refused(without)
    services = main.create_services(without, connections=1)
    await start_checks.give_up(services.db, "old")
    await services.db.close()
    await main.verify(without)


async def test_a_ring_of_strangers_is_refused_where_nothing_is_encrypted_yet(server: embedded.Server) -> None:
    settings = settings_for(await migrated_database(server.cluster.dsn), TOLLHOUSE_SECRET_KEYS=OLD)
    await asyncio.to_thread(Service(settings, worker=False).start().stop)
    await main.verify(settings)
    assert "the ring has none of them" in await refused(with_ring(settings, OTHER))


async def test_a_wrong_key_is_noticed_where_no_check_value_was_kept_yet(used: Settings) -> None:
    connection = await asyncpg.connect(used.database_url)
    await connection.execute("DELETE FROM secret_keys")
    await connection.close()
    assert "old is not the key" in await refused(with_ring(used, WRONG))
    await main.verify(used)


def test_a_lost_key_file_is_not_replaced(tmp_path: Path) -> None:
    settings = config.load({"TOLLHOUSE_DATA_DIR": str(tmp_path)})
    assert with_keys(settings) == with_keys(settings)
    data_folder.mark_used(tmp_path, "1")
    (tmp_path / "secret-keys").unlink()
    with pytest.raises(InvalidSettingsError, match="is missing"):
        with_keys(settings)
    assert not (tmp_path / "secret-keys").exists()
