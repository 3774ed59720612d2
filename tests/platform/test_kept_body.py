"""The body of an answer is kept only where that is asked for, and never more than 16 KiB of it."""

from aiohttp import web

from tests.receiver import Receiver
from tests.running import settings_for
from tollhouse.kernel.limits import DELIVERY_BODY_BYTES_MAX
from tollhouse.platform.outgoing.outbound import Outbound


async def test_a_body_is_kept_where_it_is_asked_for(receiver: Receiver) -> None:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(status=404, body=b"x" * 100_000)

    receiver.answer = answer
    async with Outbound(settings_for("postgresql:///nowhere")) as outbound:
        thrown_away = await outbound.post(receiver.url, b"{}", {})
        kept = await outbound.post(receiver.url, b"{}", {}, kept_bytes=DELIVERY_BODY_BYTES_MAX)
    assert (thrown_away.http_status, thrown_away.body) == (404, b"")
    assert (kept.http_status, kept.body[:1]) == (404, b"x")
    assert len(kept.body) <= 2 * 16 * 1024
