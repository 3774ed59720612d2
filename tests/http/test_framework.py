"""The example of docs/framework.md, and how unexpected errors are answered."""

import json
import re
from pathlib import Path
from typing import Any

from starlette.responses import Response

from tests.cast import Actor
from tollhouse.accounts.idempotency.claims import DatabaseIdempotencyStore
from tollhouse.accounts.identity.guards import anyone, recognize
from tollhouse.http.asgi import AsgiApplication
from tollhouse.http.operations import PAGES, Operation, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import page
from tollhouse.http.services import Services

MANUAL = Path(__file__).parent.parent.parent / "docs" / "framework.md"
TABLE = "CREATE TABLE notes (id uuid PRIMARY KEY, merchant_id uuid NOT NULL, text text NOT NULL)"


class NoRecorder:
    """The request log of an application without one."""

    def record(self, request: Request, operation: Operation | None, response: Response, duration_us: int) -> None:
        """Record nothing."""


def example() -> Operations:
    """The operations of the page's code block."""
    found = re.search(r"```python\n(.*?)```", MANUAL.read_text(), re.DOTALL)
    assert found is not None
    names: dict[str, Any] = {"__name__": "notes"}
    exec(compile(found[1], str(MANUAL), "exec"), names)  # noqa: S102 - a page of this repository
    return names["OPERATIONS"]


async def nothing() -> None:
    """Start and stop nothing."""


async def call(services: Services, operations: Operations, method: str, path: str, **sent: Any) -> tuple[int, Any]:
    """Call an application of these operations with `headers` and `body`; the status and the JSON of its response."""
    application = AsgiApplication(
        services,
        operations,
        idempotency=DatabaseIdempotencyStore(),
        recorders=(NoRecorder(),),
        recognize=recognize,
        after_start=nothing,
        before_stop=nothing,
    )
    headers = [(name.encode(), value.encode()) for name, value in sent.get("headers", {}).items()]
    scope = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": headers}
    messages: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": json.dumps(sent.get("body")).encode()}

    async def send(message: Any) -> None:
        messages.append(message)

    await application(scope, receive, send)
    return messages[0]["status"], json.loads(messages[1]["body"])


async def post(services: Services, key: str, body: Any, idempotency_key: str = "") -> tuple[int, Any]:
    """Create a note with the example."""
    headers = {"x-api-key": key, "content-type": "application/json"}
    headers |= {"idempotency-key": idempotency_key} if idempotency_key else {}
    return await call(services, example(), "POST", "/api/v2/integration/notes", headers=headers, body=body)


async def test_the_example_of_the_manual(alice: Actor) -> None:
    key = await alice.key()
    services = alice.service.create_services()
    await services.db.execute(TABLE)
    try:
        status, note = await post(services, key, {"text": "Call the bank."}, "note-1")
        assert (status, note["text"]) == (201, "Call the bank.")
        assert await post(services, key, {"text": "Call the bank."}, "note-1") == (201, note)
        status, refused = await post(services, key, {"text": "a", "forbidden": ["a"], "more": 1})
        assert status == 422
        assert [error["code"] for error in refused["errors"]] == ["unknown_field", "forbidden_word"]
        await services.db.execute(
            "INSERT INTO notes SELECT gen_random_uuid(), merchant_id, text FROM notes, generate_series(1, 99)"
        )
        assert (await post(services, key, {"text": "One more."}))[0] == 409
    finally:
        await services.db.execute("DROP TABLE notes")
        await services.db.close()


async def test_a_missing_template_is_an_internal_error(alice: Actor) -> None:
    operations = Operations(PAGES)

    @operations.add("GET", "/broken", guard=anyone)
    async def broken(request: Request) -> Response:  # pyright: ignore[reportUnusedFunction]
        """A page whose template does not exist."""
        return page(request, "http/no_such_page.html")

    status, body = await call(alice.service.create_services(), operations, "GET", "/broken")
    assert (status, body["error"]) == (500, "server_error")
