"""Signing up, in and out; sessions and how they end; what another site may not make a browser do."""

import re
from typing import Any

import pytest

from tests.cast import PASSWORD, Actor, sign_up
from tests.running import Service
from tollhouse.http.cookies import cookie_name
from tollhouse.platform.settings.config import load

NEW = {"email": "new@example.com", "password": PASSWORD, "business_name": "New"}


async def test_signing_up_opens_a_merchant_and_a_session(alice: Actor) -> None:
    session = (await alice.dashboard("GET", "/session")).ok().body
    assert session["merchant"]["merchant_id"] == alice.merchant_id
    assert session["merchant"]["business_name"] == "Alice's Coffee"
    assert session["user"]["email"] == alice.email
    assert session["merchant"]["created_at"].endswith("Z")


REFUSED: list[tuple[dict[str, Any], dict[str, str]]] = [
    ({"email": "nobody"}, {"email": "invalid_email"}),
    ({"email": "a b@example.com"}, {"email": "invalid_email"}),
    ({"email": "a@" + "b" * 254}, {"email": "invalid_email"}),
    ({"password": "123456789"}, {"password": "invalid_length"}),
    ({"password": "x" * 129}, {"password": "invalid_length"}),
    ({"password": "Password123!"}, {"password": "common_password"}),
    ({"business_name": "  "}, {"business_name": "invalid_length"}),
    ({"business_name": "a\nb"}, {"business_name": "invalid_characters"}),
    ({"email": "x", "password": "x"}, {"email": "invalid_email", "password": "invalid_length"}),
    ({"email": 1, "nickname": "x"}, {"email": "invalid_type", "nickname": "unknown_field"}),
]


async def test_every_refused_field_is_named(alice: Actor) -> None:
    for change, problem in REFUSED:
        refused = await alice.anonymously("POST", "/api/v2/merchant/signup", NEW | change)
        assert refused.field_errors() == problem, change
        for error in refused.body["errors"]:
            assert re.match(f"`{error['field']}` (is|must) ", error["message"]), error["message"]


async def test_an_email_has_one_account_however_it_is_spelt(alice: Actor) -> None:
    taken = NEW | {"email": alice.email.upper()}
    (await alice.anonymously("POST", "/api/v2/merchant/signup", taken)).refused("email_taken", 409)
    login = {"email": alice.email.upper(), "password": PASSWORD}
    (await alice.anonymously("POST", "/api/v2/merchant/login", login)).ok()


async def test_a_wrong_password_and_a_wrong_email_are_one_answer(alice: Actor) -> None:
    responses = [
        (await alice.anonymously("POST", "/api/v2/merchant/login", {"email": email, "password": password})).refused(
            "invalid_credentials", 401
        )
        for email, password in (
            (alice.email, "a wrong password"),
            ("nobody@example.com", PASSWORD),
            (alice.email, "x" * 5000),
        )
    ]
    assert len({answer.body["error_description"] for answer in responses}) == 1


async def test_signing_out_ends_the_session_on_the_server(alice: Actor) -> None:
    cookie = next(iter(alice.http.cookie_jar))
    assert cookie["httponly"]
    assert cookie["samesite"] == "lax"
    assert cookie.key == "tollhouse_session"
    (await alice.dashboard("POST", "/logout")).ok(204)
    (await alice.dashboard("GET", "/session")).refused("authentication_required", 401)
    headers = {"Cookie": f"tollhouse_session={cookie.value}"}
    (await alice.anonymously("GET", "/api/v2/merchant/session", headers=headers)).refused("authentication_required", 401)
    (await alice.dashboard("POST", "/logout")).ok(204)


async def test_each_sign_in_is_a_session_of_its_own(alice: Actor) -> None:
    first = next(iter(alice.http.cookie_jar)).value
    (await alice.dashboard("POST", "/login", {"email": alice.email, "password": PASSWORD})).ok()
    assert next(iter(alice.http.cookie_jar)).value != first


@pytest.mark.parametrize(
    "age",
    [
        "last_seen_at = now() - interval '12 hours 1 minute'",
        "expires_at = now() - interval '1 ms'",
        "ended_at = now()",
    ],
)
async def test_a_session_ends_by_the_clock_alone(alice: Actor, age: str) -> None:
    await alice.sql(f"UPDATE sessions SET {age} WHERE user_id = (SELECT id FROM users WHERE email = $1)", alice.email)  # noqa: S608
    (await alice.dashboard("GET", "/session")).refused("authentication_required", 401)


@pytest.mark.parametrize(
    ("headers", "allowed"),
    [
        ({"Sec-Fetch-Site": "same-origin"}, True),
        ({"Sec-Fetch-Site": "none"}, True),
        ({"Sec-Fetch-Site": "cross-site"}, False),
        ({"Sec-Fetch-Site": "same-site"}, False),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "https://evil.example"}, True),
        ({"Origin": "https://evil.example"}, False),
        ({"Origin": "null"}, False),
        ({"Origin": "OURS"}, True),
        ({}, True),
    ],
)
async def test_another_site_cannot_use_the_session(alice: Actor, headers: dict[str, str], allowed: bool) -> None:
    sent = {name: value.replace("OURS", alice.service.url) for name, value in headers.items()}
    made = await alice.send("POST", "/api/v2/merchant/api-keys", json={"name": "k", "mode": "test"}, headers=sent)
    if allowed:
        made.ok(201)
    else:
        made.refused("cross_origin_forbidden", 403)
        assert (await alice.dashboard("GET", "/api-keys")).ok().body == {"api_keys": []}


async def test_another_sites_form_cannot_sign_anybody_in(alice: Actor) -> None:
    fields = {"email": alice.email, "password": PASSWORD}
    answer = await alice.send("POST", "/signin", data=fields, headers={"Sec-Fetch-Site": "cross-site"})
    answer.refused("cross_origin_forbidden", 403)


async def test_closed_sign_up(make_service: Any) -> None:
    closed: Service = make_service(TOLLHOUSE_SIGNUP="closed")
    with pytest.raises(AssertionError, match="signup_closed"):
        async with sign_up(closed, "late", "Late"):
            pass


def test_a_cookie_is_bound_to_the_host_over_https() -> None:
    secure = load({"TOLLHOUSE_BASE_URL": "https://pay.example"})
    assert cookie_name(secure) == "__Host-tollhouse_session"
