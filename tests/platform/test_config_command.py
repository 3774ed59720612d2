"""`tollhouse config` shows no secret, however it got into a setting."""

from pathlib import Path
from uuid import uuid4

import pytest

from tests.command import tollhouse
from tests.running import Service
from tollhouse.instance.database import data_folder
from tollhouse.platform.settings.config import SETTINGS
from tollhouse.platform.settings.values import without_secrets


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://otel:hunter2@collector:4318/v1/traces", "http://***@collector:4318/v1/traces"),
        ("https://hunter2@collector/v1", "https://***@collector/v1"),
        ("https://a:hun/ter2@ho@collector/v1", "https://***@collector/v1"),
        ("https://collector/v1?token=hunter2&to=hunter2", "https://collector/v1?token=***&to=***"),
        ("https://collector/v1?hunter2", "https://collector/v1?***"),
        ("https://collector/v1#key=hunter2", "https://collector/v1#key=***"),
        ("Shop <a@b.example>", "Shop <a@b.example>"),
        ("127.0.0.0/8,10.0.0.0/8", "127.0.0.0/8,10.0.0.0/8"),
        ("https://pay.example/shop", "https://pay.example/shop"),
    ],
)
def test_urls_are_shown_without_secrets(text: str, shown: str) -> None:
    assert without_secrets(text) == shown


async def test_no_setting_shows_the_password_of_a_url(service: Service) -> None:
    """Also one that has no URL, and one that is refused: each is set to one, in turn all at once."""
    url = "https://otel:hunter2@collector.example/v1?token=hunter2"
    named = {setting.name: url for setting in SETTINGS if setting.name != "DATABASE_URL"}
    for options in ((), ("--json",)):
        outcome = await tollhouse(service, "config", *options, **named)
        assert outcome.status == 1
        assert "hunter2" not in outcome.out + outcome.talk
        assert "https://***@collector.example/v1?token=***" in outcome.out


async def test_commands_use_the_address_of_the_service_that_runs(service: Service, tmp_path: Path) -> None:
    """`serve --port` makes one of its own, which no setting says."""
    words = ("operator", "users", "create", "--email")
    new = await tollhouse(service, *words, f"{uuid4().hex}@house.example", TOLLHOUSE_DATA_DIR=str(tmp_path))
    assert new.out.startswith("http://localhost:8000/operator/welcome/")
    data_folder.record_address(tmp_path, "http://localhost:9123")
    new = await tollhouse(service, *words, f"{uuid4().hex}@house.example", TOLLHOUSE_DATA_DIR=str(tmp_path))
    assert new.out.startswith("http://localhost:9123/operator/welcome/")
    configured = {"TOLLHOUSE_DATA_DIR": str(tmp_path), "TOLLHOUSE_BASE_URL": "https://pay.example"}
    new = await tollhouse(service, *words, f"{uuid4().hex}@house.example", **configured)
    assert new.out.startswith("https://pay.example/operator/welcome/")
    examined = await tollhouse(service, "doctor", "--json", TOLLHOUSE_DATA_DIR=str(tmp_path))
    assert ":9123" in examined.out
