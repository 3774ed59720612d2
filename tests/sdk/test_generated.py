"""The SDK is what the API reference says: generated from it, complete, small, and with nothing of the server in it."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.sdk import generate_python
from tollhouse.instance.api import reference
from tollhouse.platform.settings import config
from tollhouse_sdk import AsyncTollhouse, Tollhouse, error_types, models
from tollhouse_sdk.errors import ApiError

SDK = Path(__file__).parent.parent.parent / "sdk" / "python"
WHEEL_BYTES_MAX = 150_000


def operations() -> dict[str, dict[str, Any]]:
    """The documented operations of the Integration API."""
    document = msgspec.json.decode(reference.encoded(config.load({})))
    return {
        shown["operationId"]: shown
        for path, methods in document["paths"].items()
        for shown in methods.values()
        if path.startswith(generate_python.ROOT)
    }


@pytest.mark.parametrize("name", sorted(generate_python.modules()))
def test_what_is_committed_is_what_the_reference_says(name: str) -> None:
    assert (generate_python.GENERATED / name).read_text() == generate_python.modules()[name], "run `just records`"


@pytest.mark.parametrize("client", [Tollhouse, AsyncTollhouse])
def test_every_operation_has_a_method(client: type) -> None:
    assert len(operations()) > 80
    assert [name for name in operations() if not callable(getattr(client, name, None))] == []


@pytest.mark.parametrize("client", [Tollhouse, AsyncTollhouse])
def test_every_parameter_of_an_operation_has_a_name(client: type) -> None:
    for name, shown in operations().items():
        taken = set(inspect.signature(getattr(client, name)).parameters)
        asked = {parameter["name"] for parameter in shown.get("parameters", [])} - {"Idempotency-Key", "format"}
        assert {name if name != "from" else "from_" for name in asked} <= taken, name
        keyed = any(parameter["name"] == "Idempotency-Key" for parameter in shown.get("parameters", []))
        assert ("idempotency_key" in taken) == keyed, name


def test_every_error_code_is_a_class_and_every_event_a_type() -> None:
    document = msgspec.json.decode(reference.encoded(config.load({})))
    codes = {kind.code for kind in vars(error_types).values() if isinstance(kind, type) and issubclass(kind, ApiError)}
    for name, schema in document["components"]["schemas"].items():
        if name.endswith("Refusal"):
            assert set(schema["allOf"][1]["properties"]["error"]["enum"]) <= codes
    shown = {str(one) for one in models.Event.__args__}
    assert len(shown) == len(document["webhooks"])


def test_the_sdk_knows_nothing_of_the_server() -> None:
    for path in (SDK / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not [name for name in names if name.partition(".")[0] == "tollhouse"], path


def test_the_wheel_is_small(tmp_path: Path) -> None:
    uv = Path(sys.executable).parent / "uv"
    build = [uv, "build", "--offline", "--wheel", "--quiet", "--out-dir", tmp_path, SDK]
    subprocess.run(build, check=True, capture_output=True)
    [wheel] = tmp_path.glob("*.whl")
    assert wheel.stat().st_size <= WHEEL_BYTES_MAX
