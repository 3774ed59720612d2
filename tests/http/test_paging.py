"""What the numbers and times of a list's address may be, and how what they may not be is told."""

from urllib.parse import quote

import pytest

from tests.cast import Actor
from tests.payments.shop import COFFEE, open_link

NUMBERS = ("1e3", "5.0", " 1", "1 ", "+1", "1_0", "01", "-0", "٣", "0x1", "", "null", "1" * 30)
NO_TIMES = (
    "2026-11-21", "2026-11-21T00:00:00", "2026-11-21 00:00:00Z", "2026-11-21T00:00Z", "2026-11-21T24:00:00Z",
    "2026-11-21T00:00:00+24:00", "2026-11-21T00:00:00+0100", "2026-02-30T00:00:00Z", "2026-11-21T00:00:61Z",
    "2026-11-21T00:00:60Z", "20261121T000000Z", "1763683200", "٢٠٢٦-11-21T00:00:00Z", "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-14:00", "0000-01-01T00:00:00Z", "null", "",
)  # fmt: skip
TIMES = (
    "2026-11-21T00:00:00Z", "2026-11-21t00:00:00z", "2026-11-21T00:00:00.123456789-09:30", "2026-11-21T00:00:00-00:00",
    "2016-12-31T23:59:60Z", "2017-01-01T09:59:60+10:00", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z",
)  # fmt: skip


@pytest.mark.parametrize("member", ["page", "limit"])
async def test_a_number_is_written_in_plain_digits(alice: Actor, member: str) -> None:
    (await alice.get(f"/refunds?{member}=1")).ok()
    for text in NUMBERS:
        refused = await alice.get(f"/refunds?{member}={quote(text)}")
        assert refused.field_errors() == {member: refused.field_errors()[member]}, text


@pytest.mark.parametrize("member", ["created_from", "created_to"])
async def test_a_time_is_one_of_rfc_3339(alice: Actor, member: str) -> None:
    for text in TIMES:
        (await alice.get(f"/refunds?{member}={quote(text)}")).ok()
    for text in NO_TIMES:
        assert set((await alice.get(f"/refunds?{member}={quote(text)}")).field_errors()) == {member}, text


async def test_a_time_in_a_body_is_one_of_rfc_3339(alice: Actor) -> None:
    for text in NO_TIMES:
        refused = await alice.post("/payment-links", COFFEE | {"expires_at": text, "display_name": None})
        assert refused.field_errors() == {"display_name": "invalid_type", "expires_at": "invalid_value"}, text


async def test_a_parameter_is_sent_once(alice: Actor) -> None:
    assert (await alice.get("/refunds?page=1&limit=0&page=2&page=3&x=1")).field_errors() == {
        "page": "repeated", "limit": "invalid_value", "x": "unknown_field",
    }  # fmt: skip


async def test_a_sentence_states_the_rule_and_its_bound(alice: Actor) -> None:
    refused = await alice.get("/refunds?limit=101&status=gone&created_from=soon")
    assert {problem["field"]: problem["message"] for problem in refused.body["errors"]} == {
        "limit": "`limit` must be a whole number from 1 to 100.",
        "status": "`status` must be one of: failed, pending, succeeded.",
        "created_from": "`created_from` must be a time in RFC 3339 format with a time zone, such as 2026-11-21T00:00:00Z.",
    }


async def test_the_address_is_judged_before_the_object_is_looked_up(alice: Actor) -> None:
    nobody = "0198b2f0-0000-7000-8000-000000000000"
    for path in (f"/transactions/{nobody}/refunds", "/transactions/none/refunds"):
        assert set((await alice.get(f"{path}?limit=0")).field_errors()) == {"limit"}
        (await alice.get(path)).refused("not_found", 404)
        assert set((await alice.post(path, {"surprise": 1}, key="k")).field_errors()) == {"surprise"}
        (await alice.post(path, {}, key="k")).refused("not_found", 404)
    link = (await open_link(alice))["id"]
    assert set((await alice.post(f"/payment-links/{link}/cancel", {"why": ""})).field_errors()) == {"why"}
