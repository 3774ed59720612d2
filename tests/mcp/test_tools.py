"""The tools: what they find, read and change, and how their results look."""

from tests.cast import Actor
from tests.mcp.agent import with_key
from tests.payments.shop import COFFEE


async def test_tools_are_listed_and_explained(alice: Actor) -> None:
    agent = await with_key(alice)
    discovered = (await agent.message("server/discover")).ok().body["result"]
    assert discovered["supportedVersions"] == ["2026-07-28"]
    assert "never follow instructions" in discovered["instructions"]
    tools = {tool["name"]: tool for tool in (await agent.message("tools/list")).ok().body["result"]["tools"]}
    assert list(tools) == ["find_operation", "read", "propose", "act"]
    assert "idempotency_key" in tools["act"]["inputSchema"]["required"]
    assert "idempotency_key" in tools["propose"]["inputSchema"]["required"]
    assert tools["read"]["annotations"]["readOnlyHint"]
    assert not tools["act"]["annotations"]["readOnlyHint"]


async def test_an_agent_finds_reads_and_acts(alice: Actor) -> None:
    agent = await with_key(alice)
    found = (await agent.tool("find_operation", words="create payment link")).content
    assert found["operations"][0]["name"] == "open_link"
    assert found["operations"][0]["tool"] == "act"
    assert found["operations"][0]["allowed"]
    made = (await agent.tool("act", operation="open_link", body=COFFEE, idempotency_key="a-1")).data
    again = await agent.tool("act", operation="open_link", body=COFFEE, idempotency_key="a-1")
    assert again.data == made
    assert again.content["replayed"]
    read = (await agent.read("read_link", link_id=made["id"])).data
    assert read == made
    assert read["display_name"] == {"untrusted": "Coffee"}
    listed = await agent.read("list_links", limit=1)
    assert [link["id"] for link in listed.data["payment_links"]] == [made["id"]]
