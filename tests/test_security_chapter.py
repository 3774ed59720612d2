"""The chapter on security names tests that exist, and every section of the standard it measures itself by."""

import re
from pathlib import Path

HERE = Path(__file__).parent.parent
CHAPTER = (HERE / "docs" / "security.md").read_text()
OF_OAUTH = (HERE / "docs" / "oauth-security.md").read_text()
NAMED_TEST = re.compile(r"`(tests/[a-z_/]+\.py)(?:::(test_[a-z0-9_]+))?`")
STATUSES = {"covered", "partly", "not applicable"}
CHAPTERS_OF_THE_STANDARD = 17


def test_every_named_test_exists() -> None:
    named = NAMED_TEST.findall(CHAPTER + OF_OAUTH)
    assert len(named) > len(NAMED_TEST.findall(CHAPTER)) > 0
    missing = [f"{file}::{name}" for file, name in named if (f"def {name}(" if name else "def test_") not in _text(file)]
    assert not missing


def test_every_threat_has_a_test() -> None:
    threats = CHAPTER.split("## Threats, controls and tests")[1].split("## OWASP")[0]
    rows = [row for row in threats.splitlines() if row.startswith("| ") and not row.startswith("| Threat")]
    assert rows
    assert not [row for row in rows if not NAMED_TEST.search(row)]


def test_every_demand_on_oauth_has_a_test_or_a_reason() -> None:
    rows = [row.split(" | ") for row in OF_OAUTH.splitlines() if row.startswith("| ") and not row.startswith("| Demand")]
    assert len(rows) > 30
    for row in rows:
        assert len(row) == 4, row
        assert not row[2].startswith("met") or NAMED_TEST.search(row[3]), row


def test_every_chapter_of_the_standard_has_a_status() -> None:
    rows = re.findall(r"^\| (V[0-9., Vto]+?) [^|]*\| ([a-z ]+) \|", CHAPTER, re.MULTILINE)
    assert {status for _, status in rows} <= STATUSES
    chapters = {int(number) for sections, _ in rows for number in re.findall(r"V([0-9]+)", sections)}
    assert chapters == set(range(1, CHAPTERS_OF_THE_STANDARD + 1))


def _text(file: str) -> str:
    path = HERE / file
    return path.read_text() if path.exists() else ""
