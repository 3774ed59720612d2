"""The conformance tests of the protocol. Each failure that is expected has its reason; every other one is a defect."""

import re

import aiohttp
import pytest

from tests.cast import Actor, application
from tests.mcp.programs import Program, run, with_credential
from tests.running import free_port

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("npm_packages")]
CONFORMANCE = "node_modules/@modelcontextprotocol/conformance/dist/index.js"
LINE = re.compile(r"^([✓✗]) ([a-z0-9-]+): (\d+) passed, (\d+) failed$", re.MULTILINE)
REASONS = {
    "This server has four tools. The scenario calls one of a sample server, such as `test_simple_text`.": (
        "server-stateless tools-call-simple-text tools-call-image tools-call-audio tools-call-embedded-resource"
        " tools-call-mixed-content tools-call-error tools-call-with-progress json-schema-2020-12"
        " http-custom-header-server-validation"
    ),
    "This server has no prompts, resources and completions.": (
        "completion-complete resources-list resources-read-text resources-read-binary resources-templates-read prompts-list"
        " prompts-get-simple prompts-get-with-args prompts-get-embedded-resource prompts-get-with-image caching"
    ),
    "No tool of this server requests input from the client: the merchant decides in the dashboard.": (
        "input-required-result-basic-elicitation input-required-result-basic-sampling"
        " input-required-result-basic-list-roots input-required-result-request-state"
        " input-required-result-multiple-input-requests input-required-result-multi-round"
        " input-required-result-non-tool-request input-required-result-result-type"
        " input-required-result-tampered-state input-required-result-capability-check"
    ),
    "Tasks are an extension, which this server does not offer.": (
        "tasks-lifecycle tasks-capability-negotiation tasks-wire-fields tasks-request-state-removal tasks-mrtr-input"
        " tasks-request-headers tasks-dispatch-and-envelope tasks-required-task-error tasks-mrtr-composition"
    ),
}
EXPECTED = {scenario for scenarios in REASONS.values() for scenario in scenarios.split()}


async def test_the_server_conforms(alice: Actor) -> None:
    """The suite sends no credential, so a gateway adds a key."""
    async with with_credential(f"{alice.service.url}/mcp", {"X-API-Key": await alice.key()}) as url:
        _, output, messages = await run(CONFORMANCE, "server", "--url", url, "--requirements", "2026-07-28")
    results = {name: (mark, int(passed), int(failed)) for mark, name, passed, failed in LINE.findall(output)}
    assert {name for name, (mark, *_) in results.items() if mark == "✗"} == EXPECTED, output + messages
    assert {"tools-list", "dns-rebinding-protection", "http-header-validation"} <= results.keys() - EXPECTED
    assert results["server-stateless"][1:] == (21, 4), "those that need no tool of a sample server pass"
    assert results["caching"][1:] == (4, 3), "tools/list and server/discover have hints"


async def test_the_authorization_server_conforms_but_for_the_scope(alice: Actor, bob: Actor) -> None:
    """The suite requests a code without `scope`, which is required here: the error comes back to its callback."""
    port = free_port()
    callback = f"http://127.0.0.1:{port}/callback"
    app = await application(bob, "public", redirect_uris=[callback])
    sent = ("--url", alice.service.url, "--client-id", app.client_id, "--resource", f"{alice.service.url}/mcp")
    async with Program(CONFORMANCE, "authorization", *sent, "-p", str(port)) as suite:
        address = await suite.line_with("/api/v2/oauth/authorize")
        await suite.line_with("Callback server started")
        back = (await alice.send("GET", address)).ok(303).location
        assert back.startswith(f"{callback}?error=invalid_scope")
        async with aiohttp.ClientSession() as http, http.get(back) as answer:
            await answer.read()
        _, output, messages = await suite.end()
    assert "✓ authorization-server-metadata-endpoint" in output, output + messages
    assert "✗ authorization-code-grant" in output, output + messages
