"""The package: what is generated is as the document says, its tests cover it, it is small, and it can be installed."""

import gzip
import re
import subprocess
from pathlib import Path

import msgspec
import pytest

from tests.sdk_typescript import generate
from tests.sdk_typescript.document import sdk_document
from tests.sdk_typescript.generate import SDK
from tests.sdk_typescript.resources import resources

CHAPTER = SDK.parent.parent / "docs" / "sdk-typescript.md"
STALE = "run `just records`"
LARGEST_BYTES = 25_000
COVERED = 0.95
LINES_MAX = 400
MOST_LINES_ARE_GENERATED = {"resources.ts"}
SCRIPT = """
import { Tollhouse } from "tollhouse-sdk";
import { FileLock } from "tollhouse-sdk/node";
console.log(typeof new Tollhouse({ baseUrl: "https://pay.example", apiKey: "k" }).paymentLinks.create, typeof FileLock);
"""

pytestmark = [pytest.mark.xdist_group("npm"), pytest.mark.long]


def test_the_operations_are_those_of_the_document() -> None:
    assert (SDK / generate.RESOURCES).read_text() == resources(sdk_document()), STALE


def test_sources_are_short() -> None:
    sources = [*SDK.glob("src/*.ts"), *SDK.glob("test/*")]
    assert sources
    long = {path.name for path in sources if path.read_text().count("\n") > LINES_MAX}
    assert long == MOST_LINES_ARE_GENERATED


def test_nothing_is_needed_at_run_time_and_no_registry_is_named() -> None:
    package = msgspec.json.decode((SDK / "package.json").read_bytes())
    assert "dependencies" not in package
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in package["devDependencies"].values())
    assert not re.search(r'"resolved"|https?://[^"]*\.tgz', (SDK / "package-lock.json").read_text())
    for source in SDK.glob("src/*.ts"):
        imported = re.findall(r'from "([^"]+)"', source.read_text())
        assert all(name.startswith("." if source.name != "node.ts" else (".", "node:")) for name in imported), source


@pytest.mark.usefixtures("sdk")
def test_the_types_are_those_of_the_document() -> None:
    assert (SDK / generate.SCHEMA).read_text() == generate.types(sdk_document()), STALE


@pytest.mark.usefixtures("sdk")
def test_what_is_built_is_what_the_sources_say(tmp_path: Path) -> None:
    generate.build(tmp_path)
    built = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert built == {path.name: path.read_text() for path in (SDK / generate.BUILT).iterdir()}, STALE


@pytest.mark.usefixtures("sdk")
def test_programs_with_it_are_checked_strictly() -> None:
    generate.run("tsc", "-p", SDK / "test" / "tsconfig.json")


@pytest.mark.usefixtures("sdk")
def test_samples_of_the_readme_and_the_chapter_are_programs(tmp_path: Path) -> None:
    written = [path.read_text() for path in (SDK / "README.md", CHAPTER)]
    samples = [sample for text in written for sample in re.findall(r"^```ts\n(.*?)^```", text, re.MULTILINE | re.DOTALL)]
    assert len(samples) == 5 + 4
    for number, sample in enumerate(samples):
        (tmp_path / f"sample{number}.ts").write_text(sample)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    paths = {"tollhouse-sdk": [f"{SDK}/dist/index.d.ts"], "tollhouse-sdk/node": [f"{SDK}/dist/node.d.ts"]}
    roots = [f"{SDK}/node_modules/@types"]
    options = {"paths": paths, "rootDir": "/", "noEmit": True, "typeRoots": roots}
    config = {"extends": f"{SDK}/tsconfig.json", "compilerOptions": options, "include": ["*.ts"]}
    (tmp_path / "tsconfig.json").write_bytes(msgspec.json.encode(config))
    generate.run("tsc", "-p", tmp_path)


@pytest.mark.usefixtures("sdk")
def test_its_own_tests_cover_it(tmp_path: Path) -> None:
    report = tmp_path / "lcov.info"
    reporters = ["--test-reporter=spec", "--test-reporter-destination=stdout"]
    coverage = ["--experimental-test-coverage", "--test-reporter=lcov", f"--test-reporter-destination={report}"]
    run = ["node", "--test", *reporters, *coverage, *sorted(map(str, SDK.glob("test/*.test.mjs")))]
    done = subprocess.run(run, cwd=SDK, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-5000:]
    covered = {path: (found, hit) for path, found, hit in _lines(report.read_text()) if path.startswith("dist/")}
    assert {f"dist/{path.stem}.js" for path in SDK.glob("src/*.ts")} - set(covered) == {"dist/options.js"}
    found, hit = (sum(counts) for counts in zip(*covered.values(), strict=True))
    assert hit / found >= COVERED, covered


@pytest.mark.usefixtures("sdk")
def test_the_bundle_for_browsers_is_small(tmp_path: Path) -> None:
    bundle = tmp_path / "bundle.js"
    generate.run("esbuild", *generate.BUNDLED, f"--outfile={bundle}")
    assert len(gzip.compress(bundle.read_bytes())) <= LARGEST_BYTES


@pytest.mark.usefixtures("sdk")
def test_it_is_installed_from_its_folder_without_a_registry(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"name": "shop", "type": "module"}')
    (tmp_path / "shop.mjs").write_text(SCRIPT)
    for command in (["npm", "install", "--offline", "--no-audit", "--no-fund", SDK], ["node", "shop.mjs"]):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "function function"


def _lines(report: str) -> list[tuple[str, int, int]]:
    """Path, lines and covered lines of each file of an lcov report."""
    files = re.findall(r"^SF:(.+?)$(.*?)^end_of_record", report, re.MULTILINE | re.DOTALL)
    counts = [(path, re.findall(r"^DA:\d+,(\d+)", body, re.MULTILINE)) for path, body in files]
    return [(str(Path(path)), len(hits), sum(hit != "0" for hit in hits)) for path, hits in counts]
