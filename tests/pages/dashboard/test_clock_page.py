"""The page of the test clock: a form that is posted twice advances it once."""

import asyncio
from uuid import uuid4

from tests.cast import Actor

CLOCK = "/test/developers/clock"


async def ahead_s(actor: Actor) -> int:
    """How far the clock is ahead, a second after which the API has moved it."""
    return (await actor.call("POST", "/test/clock/advance", {"seconds": 1})).ok().body["ahead_seconds"]


async def test_a_form_that_is_posted_twice_advances_once(alice: Actor) -> None:
    form = {"key": str(uuid4()), "seconds": "86400"}
    answers = await asyncio.gather(*(alice.form(CLOCK, form) for _ in range(2)))
    assert [answer.status for answer in answers] == [303, 303]
    assert await ahead_s(alice) == 86_401


async def test_what_is_refused_advances_nothing(alice: Actor) -> None:
    for form, status in (
        ({"key": str(uuid4()), "seconds": "1"}, 422),
        ({"key": str(uuid4())}, 422),
        ({"key": "none", "seconds": "3600"}, 409),
    ):
        assert (await alice.form(CLOCK, form)).status == status
    assert (await alice.form("/live/developers/clock", {"key": str(uuid4()), "seconds": "3600"})).status == 404
    (await alice.call("POST", "/test/clock/advance", {"seconds": 3_600 * 24 * 3_600 - 10})).ok()
    assert (await alice.form(CLOCK, {"key": str(uuid4()), "seconds": "3600"})).status == 422
    assert await ahead_s(alice) == 3_600 * 24 * 3_600 - 9
