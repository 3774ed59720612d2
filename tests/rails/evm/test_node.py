"""The JSON-RPC client: real answers of a node, and answers that no client may believe."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from aiohttp import web

from tests.rails.evm.anvil import CHAIN_ID, Anvil
from tollhouse.rails import json_rpc
from tollhouse.rails.evm.network.node import EvmNode, number_of
from tollhouse.rails.json_rpc import NodeCallError, NodeResponseError, NodeUnreachableError, RpcCall

Respond = Callable[[Any], web.Response]


@pytest.fixture
async def server() -> AsyncIterator[tuple[str, list[Respond]]]:
    """The URL of a node that answers by the last function of the list."""
    responses: list[Respond] = []

    async def respond(request: web.Request) -> web.Response:
        return responses[-1](await request.json())

    application = web.Application()
    application.router.add_post("/", respond)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    yield f"http://user:secret@{host}:{port}/", responses
    await runner.cleanup()


async def test_calls_and_batches_of_a_real_node(chain: Anvil) -> None:
    asked = chain.node
    assert number_of(await asked.call(str, "eth_chainId")) == CHAIN_ID
    assert await asked.find(dict, "eth_getTransactionReceipt", f"0x{'1' * 64}") is None
    with pytest.raises(NodeResponseError, match="nothing"):
        await asked.call(dict, "eth_getTransactionReceipt", f"0x{'1' * 64}")
    with pytest.raises(NodeCallError) as refused:
        await asked.call(str, "eth_unknown")
    assert refused.value.code == -32601
    calls = [RpcCall("eth_getBlockByNumber", (hex(number), False)) for number in (0, 1_000_000)] * (
        json_rpc.BATCH_CALLS_MAX - 1
    )
    first, second, *_, last = blocks = await asked.batch(dict[str, Any], calls)
    assert len(blocks) == len(calls)
    assert first is not None
    assert first["number"] == "0x0"
    assert (second, last) == (None, None)


def misleading(asked: Any) -> list[Any]:
    """Answers to a call that are of another shape, or of another call."""
    return [
        {"jsonrpc": "2.0", "id": asked["id"] + 1, "result": "0x1"},
        {"jsonrpc": "2.0", "result": "0x1"},
        {"id": asked["id"], "result": 1},
        {"id": asked["id"], "result": "0xzz"},
        [{"id": asked["id"], "result": "0x1"}],
        "0x1",
    ]


def mismatched(asked: Any) -> list[Any]:
    """Answers to a batch of three calls that are not its own."""
    right = results(asked)
    return [right[1:], right + right[:1], right[:2] * 2, [{**one, "id": None} for one in right], right[0]]


def results(asked: Any) -> list[dict[str, Any]]:
    """The right answers to a batch: each returns its parameter."""
    return [{"id": call["id"], "result": call["params"][0]} for call in asked]


async def test_answers_of_another_shape_are_refused(server: tuple[str, list[Respond]]) -> None:
    url, responses = server
    async with EvmNode(url) as asked:
        for place in range(len(misleading({"id": 1}))):
            responses.append(lambda sent, place=place: web.json_response(misleading(sent)[place]))
            with pytest.raises(NodeResponseError):
                await asked.quantity("eth_blockNumber")


async def test_batches_are_matched_by_id(server: tuple[str, list[Respond]]) -> None:
    url, responses = server
    calls = [RpcCall("eth_getBalance", (str(place),)) for place in range(3)]
    async with EvmNode(url) as asked:
        responses.append(lambda sent: web.json_response(results(sent)[::-1]))
        assert await asked.batch(str, calls) == ["0", "1", "2"]
        for place in range(5):
            responses.append(lambda sent, place=place: web.json_response(mismatched(sent)[place]))
            with pytest.raises(NodeResponseError):
                await asked.batch(str, calls)
        responses.append(lambda _: web.json_response({"id": None, "error": {"code": -32600, "message": "batch too large"}}))
        with pytest.raises(NodeCallError, match="batch too large"):
            await asked.batch(str, calls)


async def test_no_answer_says_so_without_the_password(
    server: tuple[str, list[Respond]], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, responses = server
    async with EvmNode(url) as asked:
        for status, body in ((500, "{}"), (429, "{}"), (302, "")):
            responses.append(lambda _, status=status, body=body: web.Response(status=status, text=body))
            with pytest.raises(NodeUnreachableError, match=str(status)):
                await asked.call(str, "eth_blockNumber")
        responses.append(lambda _: web.Response(text="<html>"))
        with pytest.raises(NodeResponseError):
            await asked.call(str, "eth_blockNumber")
        monkeypatch.setattr(json_rpc, "RESPONSE_BYTES_MAX", 1000)
        responses.append(lambda sent: web.Response(text=json.dumps({"id": sent["id"], "result": "x" * 1000})))
        with pytest.raises(NodeResponseError, match="too large"):
            await asked.call(str, "eth_blockNumber")
    async with EvmNode("http://user:secret@127.0.0.1:1/") as asked:
        with pytest.raises(NodeUnreachableError) as unreachable:
            await asked.call(str, "eth_blockNumber")
    assert "secret" not in str(unreachable.value)


async def test_an_answer_that_never_comes_ends_in_time() -> None:
    async def hang(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)

    writers: list[asyncio.StreamWriter] = []
    hanging = await asyncio.start_server(hang, "127.0.0.1", 0)
    host, port = hanging.sockets[0].getsockname()
    async with hanging, EvmNode(f"http://{host}:{port}", response_within_s=1) as asked:
        with pytest.raises(NodeUnreachableError, match="Timeout"):
            await asked.call(str, "eth_blockNumber")
        for writer in writers:
            writer.close()
