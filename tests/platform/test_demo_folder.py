"""`tollhouse demo` keeps its sample data apart from what is in use, and has a month of different payments."""

from pathlib import Path

import aiohttp
import pytest

from tests.running import Service
from tollhouse.instance.cli import demo as command_line
from tollhouse.instance.demo import seed
from tollhouse.platform.settings.config import InvalidSettingsError
from tollhouse.rails.sandbox.sample_data import SAMPLES


def test_the_demo_has_a_data_folder_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.setenv("TOLLHOUSE_DATA_DIR", str(tmp_path / "tollhouse"))
    assert command_line.settings_for_demo(8000).data_dir == tmp_path / "tollhouse-demo"


def test_the_demo_never_fills_a_database_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://tollhouse@db/tollhouse")
    monkeypatch.setenv("TOLLHOUSE_SECRET_KEYS", "k1:" + "A" * 43)
    with pytest.raises(InvalidSettingsError, match="Unset DATABASE_URL"):
        command_line.settings_for_demo(8000)


async def test_the_demo_begins_with_a_month_of_different_payments(service: Service, tmp_path: Path) -> None:
    """Amounts, times and states differ; a second start adds nothing."""
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as http:
        await seed.load_or_create(http, service.url, tmp_path / "demo.json", "http://127.0.0.1:9")
        made = await seed.load_or_create(http, service.url, tmp_path / "demo.json", "http://127.0.0.1:9")
        url, headers = f"{service.url}/api/v2/integration/transactions?limit=100", {"X-API-Key": made.api_key}
        async with http.get(url, headers=headers) as response:
            payments = (await response.json())["transactions"]
    assert len(payments) == len(SAMPLES)
    assert len({payment["status"] for payment in payments}) >= 4
    assert len({payment["amount"] for payment in payments}) >= 10
    assert len({payment["created_at"][:10] for payment in payments}) >= 15
    assert len({payment["created_at"][11:13] for payment in payments}) >= 10
