"""What of the TypeScript SDK is generated: types and methods from the OpenAPI document, and the built package.

`just records` writes it anew. The types and the build need Node, which is not asked of everybody: without it they stay.
"""

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import msgspec

from tests import npm
from tests.sdk_typescript.document import sdk_document
from tests.sdk_typescript.resources import resources

SDK = Path(__file__).resolve().parents[2] / "sdk" / "typescript"
RESOURCES, SCHEMA, BUILT = Path("src/resources.ts"), Path("types/schema.d.ts"), Path("dist")
TYPES = ("--root-types", "--root-types-no-schema-prefix", "--default-non-nullable", "false")
BUNDLED = ("dist/index.js", "--bundle", "--minify", "--keep-names", "--format=esm", "--target=es2022")
"""For browsers: one file."""


def write() -> str | None:
    """Write all of it; why types and build had to stay as they are."""
    document = sdk_document()
    (SDK / RESOURCES).write_text(resources(document))
    missing = npm.why_missing(SDK)
    if missing is None:
        (SDK / SCHEMA).write_text(types(document))
        shutil.rmtree(SDK / BUILT, ignore_errors=True)
        build(SDK / BUILT)
    return missing


def types(document: dict[str, Any]) -> str:
    """What openapi-typescript makes of the document."""
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder, "openapi.json"), Path(folder, "schema.d.ts")
        given.write_bytes(msgspec.json.encode(document))
        run("openapi-typescript", given, "-o", made, *TYPES)
        return made.read_text()


def build(folder: Path) -> None:
    """Compile the sources to a folder."""
    run("tsc", "-p", SDK / "tsconfig.json", "--outDir", folder)


def run(tool: str, *arguments: str | Path) -> str:
    """Run a development tool of the SDK: its output."""
    done = subprocess.run(
        [SDK / "node_modules" / ".bin" / tool, *arguments], cwd=SDK, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"{tool} failed: {done.stdout}{done.stderr}")
    return done.stdout
