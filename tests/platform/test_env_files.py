"""Settings in `.env` files and secrets in files."""

import os
from pathlib import Path

import pytest

from tests.command import tollhouse
from tests.running import Service
from tollhouse.platform.settings import env_files
from tollhouse.platform.settings.config import SETTINGS, InvalidSettingsError, list_warnings, load
from tollhouse.platform.settings.env_files import parse

TEXT = """
# our shop
TOLLHOUSE_BASE_URL=https://pay.example   # no slash
export TOLLHOUSE_MAIL_FROM="Our Toll <toll@house.example>" # sender
TOLLHOUSE_BANK_HOLDER='Alice #1 "and" sons'
DATABASE_URL = postgresql://a:p$x#y\\@db/tollhouse
TOLLHOUSE_SIGNUP=
TOLLHOUSE_UNKNOWN=1
PATH=/mallory
LD_PRELOAD=/mallory.so
"""


@pytest.fixture(autouse=True)
def no_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test begins without files."""
    monkeypatch.setattr(env_files, "sources", {})


def written(folder: Path, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / ".env"
    file.write_text(text)
    file.chmod(0o600)
    return file


def test_values_are_taken_as_written() -> None:
    assert parse(TEXT, ".env") == {
        "TOLLHOUSE_BASE_URL": "https://pay.example",
        "TOLLHOUSE_MAIL_FROM": "Our Toll <toll@house.example>",
        "TOLLHOUSE_BANK_HOLDER": 'Alice #1 "and" sons',
        "DATABASE_URL": "postgresql://a:p$x#y\\@db/tollhouse",
        "TOLLHOUSE_SIGNUP": "",
        "TOLLHOUSE_UNKNOWN": "1",
    }


@pytest.mark.parametrize(
    "line", ["hunter2", "TOLLHOUSE_SMTP_URL='hunter2", 'A="hunter2" hunter2', "2A=hunter2", "TOLLHOUSE SIGNUP=hunter2"]
)
def test_a_line_that_is_no_setting_is_an_error_without_its_text(line: str) -> None:
    with pytest.raises(InvalidSettingsError, match="line 2 must be NAME=value") as refused:
        parse(f"TOLLHOUSE_SIGNUP=open\n{line}\nTOLLHOUSE_SIGNUP=closed", "/srv/.env")
    assert "hunter2" not in str(refused.value)
    assert refused.value.field_errors[1] == "/srv/.env line 3 sets TOLLHOUSE_SIGNUP a second time"


def test_the_environment_counts_first_then_the_working_directory(tmp_path: Path) -> None:
    data, work = tmp_path / "data", tmp_path / "work"
    inner = written(data, "TOLLHOUSE_SIGNUP=closed\nTOLLHOUSE_BASE_URL=https://data:1\nTOLLHOUSE_RATE_API=1\n")
    outer = written(work, f"TOLLHOUSE_DATA_DIR={data}\nTOLLHOUSE_BASE_URL=https://work:1\nTOLLHOUSE_RATE_API=2\n")
    environ = {"TOLLHOUSE_RATE_API": "", "HOME": "/nowhere"}
    env_files.apply(environ, work)
    settings = load(environ)
    assert (settings.signup_open, settings.base_url, settings.rate_api_per_min) == (False, "https://work:1", 1000)
    assert env_files.sources["TOLLHOUSE_SIGNUP"] == inner
    assert env_files.sources["TOLLHOUSE_BASE_URL"] == outer
    assert "TOLLHOUSE_RATE_API" not in env_files.sources


def test_no_file_changes_nothing(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    env_files.apply(environ, tmp_path)
    assert environ == {"HOME": str(tmp_path)}


def test_a_data_folder_does_not_name_another_one(tmp_path: Path) -> None:
    written(tmp_path, "TOLLHOUSE_DATA_DIR=/elsewhere\n")
    with pytest.raises(InvalidSettingsError, match="cannot be set in the data folder itself"):
        env_files.apply({"TOLLHOUSE_DATA_DIR": str(tmp_path)}, tmp_path / "work")


def test_a_file_that_every_account_can_change_is_refused(tmp_path: Path) -> None:
    written(tmp_path, "TOLLHOUSE_SIGNUP=open\n").chmod(0o666)
    with pytest.raises(InvalidSettingsError, match="chmod 600"):
        env_files.apply({}, tmp_path)


def test_a_file_of_another_account_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = written(tmp_path, "TOLLHOUSE_SIGNUP=open\n").stat().st_uid or 4711
    os.chown(tmp_path / ".env", owner, -1)
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(InvalidSettingsError, match="belongs to another account"):
        env_files.apply({}, tmp_path)


@pytest.mark.parametrize(
    ("data", "error"), [(b"\xff\xfe", "is not valid UTF-8"), (b"#" * 65_537, "is larger than 65536 bytes")]
)
def test_a_file_that_is_no_settings_file_is_refused(tmp_path: Path, data: bytes, error: str) -> None:
    written(tmp_path, "").write_bytes(data)
    with pytest.raises(InvalidSettingsError, match=error):
        env_files.apply({}, tmp_path)


def test_each_secret_can_come_from_a_file(tmp_path: Path) -> None:
    secrets = {setting.name: setting.file_name for setting in SETTINGS if setting.secret}
    assert {"DATABASE_URL", "TOLLHOUSE_SECRET_KEYS", "TOLLHOUSE_SMTP_URL", "TOLLHOUSE_METRICS_TOKEN"} <= secrets.keys()
    file = tmp_path / "secret"
    file.write_text("smtp://post:p%20w@relay.example\r\n")
    smtp = load({"TOLLHOUSE_SMTP_URL_FILE": str(file)}).smtp
    assert smtp is not None
    assert (smtp.host, smtp.password) == ("relay.example", "p w")


def test_a_value_and_a_file_are_an_error_that_names_both(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("x" * 40)
    with pytest.raises(InvalidSettingsError) as refused:
        load({"TOLLHOUSE_METRICS_TOKEN": "y" * 40, "TOLLHOUSE_METRICS_TOKEN_FILE": str(file)})
    assert refused.value.field_errors == [
        "TOLLHOUSE_METRICS_TOKEN and TOLLHOUSE_METRICS_TOKEN_FILE are both set. Remove one of them."
    ]


def test_a_missing_or_empty_secret_file_never_means_the_embedded_database(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    with pytest.raises(InvalidSettingsError, match="DATABASE_URL cannot be read: DATABASE_URL_FILE must be the path"):
        load({"DATABASE_URL_FILE": str(file)})
    file.write_text("\n")
    with pytest.raises(
        InvalidSettingsError, match="DATABASE_URL is missing: the file that DATABASE_URL_FILE names is empty"
    ):
        load({"DATABASE_URL_FILE": str(file)})


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("TOLLHOUSE_BASEURL", "TOLLHOUSE_BASE_URL"), ("TOLLHOUSE_SMTP_URL_FIL", "TOLLHOUSE_SMTP_URL_FILE"),
     ("TOLLHOUSE_SIGNUP_FILE", "TOLLHOUSE_SIGNUP"), ("TOLLHOUSE_XYZ", None)],
)  # fmt: skip
def test_an_unknown_name_is_a_warning_with_the_nearest_one(name: str, nearest: str | None) -> None:
    environ = {name: "hunter2"}
    expected = f"{name} is not a setting." + (f" Did you mean {nearest}?" if nearest else "")
    assert list_warnings(load(environ), environ) == [expected]


@pytest.mark.parametrize(
    ("url", "count"),
    [("http://pay.example", 1), ("http://10.0.0.1:8000", 1), ("https://pay.example", 0), ("http://localhost:80", 0),
     ("http://[::1]", 0)],
)  # fmt: skip
def test_http_is_an_error_unless_it_stays_on_this_machine(url: str, count: int) -> None:
    bank = {"TOLLHOUSE_BANK_IBAN": "DE89370400440532013000", "TOLLHOUSE_BANK_HOLDER": "Alice"}
    for environ in ({"TOLLHOUSE_BASE_URL": url}, {"TOLLHOUSE_BASE_URL": url} | bank):
        if count:
            with pytest.raises(InvalidSettingsError, match="TOLLHOUSE_BASE_URL must use https"):
                load(environ)
        else:
            assert list_warnings(load(environ), environ) == []


async def test_the_command_shows_values_and_where_they_come_from(service: Service, tmp_path: Path) -> None:
    file = written(tmp_path, "TOLLHOUSE_SIGNUP=closed\nTOLLHOUSE_METRICS_TOKEN=hunter2hunter2hunter2hunter2hunter2\n")
    (tmp_path / "smtp").write_text("smtp://a:hunter2@relay.example\n")
    outcome = await tollhouse(
        service, "config", "--json", TOLLHOUSE_DATA_DIR=str(tmp_path), TOLLHOUSE_SMTP_URL_FILE=str(tmp_path / "smtp"),
        TOLLHOUSE_SINGUP="open",
    )  # fmt: skip
    rows = {row["name"]: (row["value"], row["source"]) for row in outcome.json["settings"]}
    assert outcome.status == 0
    assert rows["TOLLHOUSE_SIGNUP"] == ("closed", str(file))
    assert rows["TOLLHOUSE_METRICS_TOKEN"] == ("(set)", str(file))
    assert rows["TOLLHOUSE_SMTP_URL"] == ("(set)", str(tmp_path / "smtp"))
    assert rows["DATABASE_URL"] == ("(set)", "environment")
    assert rows["TOLLHOUSE_RATE_API"] == ("1000", "default")
    assert outcome.json["warnings"] == ["TOLLHOUSE_SINGUP is not a setting. Did you mean TOLLHOUSE_SIGNUP?"]
    assert "hunter2" not in outcome.out + outcome.talk


async def test_a_wrong_file_is_reported_by_every_command(service: Service, tmp_path: Path) -> None:
    file = written(tmp_path, "TOLLHOUSE_SIGNUP\n")
    outcome = await tollhouse(service, "status", TOLLHOUSE_DATA_DIR=str(tmp_path))
    assert (outcome.status, outcome.out) == (1, "")
    assert f"{file}line1mustbeNAME=value" in outcome.talk.replace(" ", "")  # a long path is wrapped
