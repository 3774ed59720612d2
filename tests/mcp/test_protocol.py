"""Messages to `/mcp`: who may send them, and what the transport refuses."""

import subprocess
import sys
from typing import Any

import msgspec
import pytest

from tests.cast import Actor, Answer, of_the_file
from tests.mcp.agent import ACCEPT, META, VERSION, Agent, with_key
from tests.running import Service
from tollhouse.platform.settings import config

shop = of_the_file("shop", "A shop")
LISTING = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": META}}
HEADERS = {"Accept": ACCEPT, "MCP-Protocol-Version": VERSION, "Mcp-Method": "tools/list"}


async def send(actor: Actor, body: Any, **headers: str) -> Answer:
    """A message with a valid key and these headers; an empty one is left out."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    sent = {"X-API-Key": await actor.key()} | HEADERS | named
    return await actor.anonymously("POST", "/mcp", body, {name: value for name, value in sent.items() if value})


async def test_a_credential_is_needed(shop: Actor) -> None:
    answer = (await Agent(shop, {}).message("tools/list")).refused("authentication_required", 401)
    assert answer.headers["WWW-Authenticate"].startswith("Bearer ")
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    (await Agent(shop, {"X-API-Key": "th_test_x"}).message("tools/list")).refused("invalid_api_key", 401)
    (await Agent(shop, {"Authorization": "Bearer that_x"}).message("tools/list")).refused("invalid_token", 401)
    (await shop.send("POST", "/mcp", json=LISTING, headers=HEADERS)).refused("authentication_required", 401)
    both = {"X-API-Key": await shop.key(), "Authorization": "Bearer that_x"}
    (await Agent(shop, both).message("tools/list")).refused("invalid_request", 400)


@pytest.mark.parametrize(
    "origin",
    ["https://evil.example", "null", "http://localhost.evil.example", "http://localhost@evil.example", "localhost",
     "file://localhost", "http://[::1", ""],
)  # fmt: skip
async def test_pages_of_other_sites_are_refused(shop: Actor, origin: str) -> None:
    agent = await with_key(shop)
    answer = await agent.message("tools/list", Origin=origin)
    answer.refused("cross_origin_forbidden", 403)


async def test_pages_of_this_service_and_machine_may_call(shop: Actor, service: Service) -> None:
    agent = await with_key(shop)
    for origin in (service.url, "http://localhost:6274", "http://127.0.0.1", "https://[::1]:8443"):
        (await agent.message("tools/list", Origin=origin)).ok()


def test_further_origins_are_a_setting() -> None:
    settings = config.load({"TOLLHOUSE_MCP_ORIGINS": "https://agent.example, http://other.example:8080"})
    assert settings.mcp_origins == ("https://agent.example", "http://other.example:8080")
    for wrong in ("agent.example", "https://agent.example/", "ftp://agent.example", "*", "https://"):
        with pytest.raises(config.InvalidSettingsError):
            config.load({"TOLLHOUSE_MCP_ORIGINS": wrong})


async def test_browsers_may_send_the_headers_of_the_protocol(shop: Actor) -> None:
    answer = (await shop.anonymously("OPTIONS", "/mcp")).ok(204)
    allowed = answer.headers["Access-Control-Allow-Headers"]
    for name in ("Authorization", "MCP-Protocol-Version", "Mcp-Session-Id", "Last-Event-ID", "Mcp-Method", "Mcp-Name"):
        assert name in allowed.split(", ")


async def test_only_messages_are_accepted(shop: Actor) -> None:
    for method in ("GET", "PUT", "DELETE", "PATCH"):
        answer = (await shop.anonymously(method, "/mcp", headers={"X-API-Key": await shop.key()})).ok(405)
        assert answer.headers["Allow"] == "OPTIONS, POST"
    assert (await send(shop, LISTING, Accept="text/html")).status == 406
    assert (await send(shop, [LISTING])).status == 400
    assert (await send(shop, LISTING | {"jsonrpc": "1.0"})).status == 400
    assert (await send(shop, LISTING, Mcp_Method="tools/call")).status == 400
    assert (await send(shop, LISTING | {"method": "resources/list"}, Mcp_Method="resources/list")).status == 404
    later = LISTING | {"params": {"_meta": META | {"io.modelcontextprotocol/protocolVersion": "2099-01-01"}}}
    assert (await send(shop, LISTING, MCP_Protocol_Version="2099-01-01")).status == 400
    wrong = (await send(shop, later, MCP_Protocol_Version="2099-01-01")).ok(400).body["error"]
    assert wrong["data"]["supported"] == [VERSION]
    called = {"name": "read", "arguments": {"operation": "account"}}
    call = LISTING | {"method": "tools/call", "params": {"_meta": META, **called}}
    assert (await send(shop, call, Mcp_Method="tools/call", Mcp_Name="act")).status == 400
    agent = await with_key(shop)
    unknown = (await agent.message("tools/call", {"name": "shell", "arguments": {}})).ok(400).body["error"]
    assert unknown["message"] == "Unknown tool. The tools are: find_operation, read, propose, act."


async def test_messages_are_small(shop: Actor) -> None:
    agent = await with_key(shop)
    big = await agent.message("tools/call", {"name": "act", "arguments": {"body": {"note": "x" * 70_000}}})
    big.refused("payload_too_large", 413)
    nested: Any = []
    for _ in range(100):
        nested = [nested]
    arguments = {"operation": "open_link", "idempotency_key": "k", "body": {"metadata": nested}}
    (await agent.message("tools/call", {"name": "act", "arguments": arguments})).refused("invalid_request", 400)


async def test_clients_of_earlier_versions_are_served(shop: Actor) -> None:
    """They say hello first, and get no session."""
    hello = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "old", "version": "1"},
    }
    sent = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    answer = (await send(shop, sent, MCP_Protocol_Version="", Mcp_Method="")).ok()
    assert answer.body["result"]["serverInfo"]["name"] == "tollhouse"
    assert "Mcp-Session-Id" not in answer.headers
    initialized = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert (await send(shop, initialized, MCP_Protocol_Version="2025-11-25", Mcp_Method="")).status == 202
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    listed = (await send(shop, listing, MCP_Protocol_Version="2025-11-25", Mcp_Method="")).ok().body["result"]
    assert [tool["name"] for tool in listed["tools"]] == ["find_operation", "read", "propose", "act"]


@pytest.mark.long
def test_the_sdk_is_imported_by_the_first_message() -> None:
    """It takes 32 MiB."""
    program = "import sys, tollhouse.instance.main; print(*[name for name in sys.modules if name.split('.')[0] == 'mcp'])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


@pytest.mark.long
async def test_requests_of_agents_count(make_service: Any) -> None:
    """Messages and the calls that they make count for the limit of the credential."""
    from tests.cast import sign_up  # noqa: PLC0415

    limited = make_service(TOLLHOUSE_RATE_LIMITS="on", TOLLHOUSE_RATE_API="4")
    async with sign_up(limited, "dana", "Dana's desk") as dana:
        agent = await with_key(dana)
        (await agent.message("tools/list")).ok()
        assert (await agent.read("account")).data["mode"] == "test"
        (await agent.read("account")).refused("rate_limited")
        refused = await agent.message("tools/list")
        refused.refused("rate_limited", 429)
        assert int(refused.headers["Retry-After"]) >= 1
        assert msgspec.json.decode(refused.raw)["error"] == "rate_limited"
