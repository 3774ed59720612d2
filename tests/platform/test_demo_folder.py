"""`tollhouse demo` keeps its sample data apart from what is in use."""

from pathlib import Path

import pytest

from tollhouse.cli import demo as command_line
from tollhouse.platform.config import InvalidSettingsError


def test_the_demo_has_a_data_folder_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.setenv("TOLLHOUSE_DATA_DIR", str(tmp_path / "tollhouse"))
    assert command_line.settings_for_demo(8000).data_dir == tmp_path / "tollhouse-demo"


def test_the_demo_never_fills_a_database_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://tollhouse@db/tollhouse")
    monkeypatch.setenv("TOLLHOUSE_SECRET_KEYS", "k1:" + "A" * 43)
    with pytest.raises(InvalidSettingsError, match="Unset DATABASE_URL"):
        command_line.settings_for_demo(8000)
