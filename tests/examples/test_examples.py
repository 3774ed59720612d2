"""What every example has: few lines, a README of a page, a line in the list."""

from tests.examples.running import EXAMPLES

LINES_MAX, README_LINES_MAX = 200, 60
CODE = {".py", ".mjs", ".js", ".html"}
INSTALLED = {"tollhouse-sdk.js"}


def test_every_example_is_small_and_described() -> None:
    folders = sorted(folder for folder in EXAMPLES.iterdir() if folder.is_dir())
    listed = (EXAMPLES / "README.md").read_text()
    assert len(folders) == 5
    for folder in folders:
        files = [path for path in folder.iterdir() if path.suffix in CODE and path.name not in INSTALLED]
        assert sum(path.read_text().count("\n") for path in files) < LINES_MAX, folder
        assert (folder / "README.md").read_text().count("\n") < README_LINES_MAX, folder
        assert f"]({folder.name}/README.md)" in listed
