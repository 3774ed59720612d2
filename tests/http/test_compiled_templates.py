"""Templates are compiled once for all processes, and again when anything changes that they are made of."""

import sys
from pathlib import Path

import pytest
from jinja2 import DictLoader, Environment

from tollhouse.http.compiled_templates import BAKED_IN, PREFIX, CompiledTemplates, states

PAGE = "<p>{{ word }}</p>"


class CountingEnvironment(Environment):
    """Counts how often it compiles."""

    compiled = 0

    def compile(self, *args: object, **kwargs: object) -> object:  # type: ignore[override]
        """Compile and count."""
        self.compiled += 1
        return super().compile(*args, **kwargs)  # type: ignore[arg-type, call-overload]


@pytest.fixture
def within(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, where modules may be stored compiled."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return tmp_path / f"{PREFIX}now"


def compiled(within: Path, source: str = PAGE, language: str = "en") -> int:
    """How often a new process compiles this page to show it."""
    environment = CountingEnvironment(
        loader=DictLoader({"page": source}), bytecode_cache=CompiledTemplates(language, within)
    )
    shown = environment.get_template("page").render(word="hello")
    assert shown == source.replace("{{ word }}", "hello")
    return environment.compiled


def test_the_next_process_compiles_nothing(within: Path) -> None:
    assert [compiled(within), compiled(within)] == [1, 0]


def test_another_source_or_language_is_compiled(within: Path) -> None:
    compiled(within)
    assert compiled(within, language="de") == 1
    assert compiled(within, "<b>{{ word }}</b>") == 1


@pytest.mark.parametrize("content", [b"", b"j2", b"x" * 200])
def test_a_damaged_file_is_compiled_again(within: Path, content: bytes) -> None:
    compiled(within)
    (stored,) = (within / "en").iterdir()
    stored.write_bytes(content)
    assert [compiled(within), compiled(within)] == [1, 0]


def test_a_torn_file_is_compiled_again(within: Path) -> None:
    compiled(within)
    (stored,) = (within / "en").iterdir()
    stored.write_bytes(stored.read_bytes()[:-20])
    assert compiled(within) == 1


def test_where_nothing_can_be_stored_pages_are_shown(within: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    within.write_text("a file, where a folder should be")
    assert [compiled(within), compiled(within)] == [1, 1]
    within.unlink()
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert [compiled(within), compiled(within)] == [1, 1]
    assert not within.exists()


def test_folders_of_other_versions_are_removed(within: Path) -> None:
    compiled(within.with_name(f"{PREFIX}before"))
    compiled(within)
    assert [folder.name for folder in within.parent.iterdir()] == [within.name]


def test_each_change_of_the_program_counts(tmp_path: Path) -> None:
    for name in ("a.py", "b/c.po", "b/d.html"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("one")
    before = sorted(states(tmp_path))
    assert len(before) == len(BAKED_IN)
    (tmp_path / "b/c.po").write_text("three")
    assert sorted(states(tmp_path)) != before
