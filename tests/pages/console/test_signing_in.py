"""How operators come in, how their sessions end, and that nobody else's session opens their pages."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from uuid import uuid4

import pytest

from tests.cast import PASSWORD, Actor
from tests.forms import signed_out
from tests.pages.console.commands import operator
from tests.pages.console.operator_pages import invite, signed_in_operator, visitor
from tests.running import Service
from tollhouse.accounts.approvals.model import OperatorRefusedError
from tollhouse.http.cookies import cookie_name
from tollhouse.http.operations import PAGES
from tollhouse.instance.slices import operations
from tollhouse.platform.settings.config import load

OF_ACCOUNT, FROM_ADDRESS = 3, 5
OPEN = ("signin", "signin", "signin/2fa", "signin/2fa", "signout", "welcome", "welcome")
NAMED = re.compile(r"\{\w+\}")
AGED = "UPDATE failed_attempts SET failed_at = ARRAY(SELECT t - interval '15 minutes' FROM unnest(failed_at) t)"


def cookie_of(actor: Actor) -> str:
    """The operator's cookie in this browser."""
    return next(cookie.value for cookie in actor.http.cookie_jar if cookie.key == "tollhouse_operator")


async def sign_in(actor: Actor, password: str = PASSWORD, **fields: str) -> int:
    """Sign in by the form."""
    return (await actor.form("/operator/signin", {"email": actor.email, "password": password} | fields)).status


@pytest.mark.long
async def test_the_command_line_invites_and_the_link_welcomes_once(service: Service) -> None:
    email = f"olga-{uuid4().hex[:8]}@house.example"
    invited = await operator(service, "users", "create", "--email", email, "--reason", "Joins us", "--json")
    assert invited.status == 0, invited.talk
    link = invited.json["link"].removeprefix(load({}).base_url)
    with pytest.raises(OperatorRefusedError, match="is already an operator"):
        await invite(service, email.upper())
    async with visitor(service, email) as olga:
        for _ in range(2):
            assert email in (await olga.send("GET", link)).ok().text
        refused = (await olga.form(link, {"password": "short"})).ok(422)
        assert "10 to 128 characters" in refused.text
        welcomed = (await olga.form(link, {"password": PASSWORD})).ok(303)
        assert welcomed.location == "/operator"
        assert email in (await olga.send("GET", "/operator")).ok().text
        (await olga.send("GET", link)).refused("link_over", 410)
        (await olga.form(link, {"password": "another password"})).refused("link_over", 410)
        assert await sign_in(olga) == 303
        kept = await olga.sql(
            "SELECT action, operator, reason, merchant_id FROM operator_actions WHERE subject_id = $1::uuid ORDER BY at, id",
            invited.json["operator_id"],
        )
    assert [(row["action"], row["reason"], row["merchant_id"]) for row in kept] == [
        ("operator_invited", "Joins us", None),
        ("operator_joined", None, None),
    ]
    assert kept[1]["operator"] == email


async def test_one_of_two_who_use_the_link_at_once_comes_in(service: Service) -> None:
    email = f"olga-{uuid4().hex[:8]}@house.example"
    link = await invite(service, email)
    async with visitor(service, email) as olga:
        ended = await asyncio.gather(*(olga.form(link, {"password": f"password number {n}"}) for n in range(4)))
    assert sorted(answer.status for answer in ended) == [303, 410, 410, 410]


async def test_a_link_is_good_for_a_day(service: Service) -> None:
    email = f"olga-{uuid4().hex[:8]}@house.example"
    link = await invite(service, email)
    async with visitor(service, email) as olga:
        await olga.sql("UPDATE operators SET link_expires_at = now() - interval '1 ms' WHERE email = $1", email)
        (await olga.send("GET", link)).refused("link_over", 410)
        (await olga.form(link, {"password": PASSWORD})).refused("link_over", 410)
        (await olga.send("GET", "/operator/welcome/nothing-here")).refused("link_over", 410)


async def test_one_who_has_chosen_no_password_cannot_sign_in(service: Service) -> None:
    email = f"olga-{uuid4().hex[:8]}@house.example"
    await invite(service, email)
    async with visitor(service, email) as olga:
        assert await sign_in(olga, "") == 401
        assert await sign_in(olga) == 401


async def test_a_reset_ends_password_and_sessions(olga: Actor, service: Service) -> None:
    reset = await operator(service, "users", "reset", "--email", olga.email)
    assert reset.status == 0, reset.talk
    (await olga.send("GET", "/operator")).ok(303)
    assert await sign_in(olga) == 401
    link = reset.out.strip().removeprefix(load({}).base_url)
    (await olga.form(link, {"password": "another password"})).ok(303)
    (await olga.send("GET", "/operator")).ok()
    assert await sign_in(olga) == 401
    assert await sign_in(olga, "another password") == 303


async def test_one_who_is_closed_is_out_and_may_be_invited_again(olga: Actor, service: Service) -> None:
    assert (await operator(service, "users", "close", "--email", olga.email, "--reason", "Left us")).status == 0
    (await olga.send("GET", "/operator")).ok(303)
    assert await sign_in(olga) == 401
    refused = await operator(service, "users", "reset", "--email", olga.email)
    assert (refused.status, refused.talk) == (1, f"{olga.email} is not an operator.")
    listed = (await operator(service, "users", "list", "--json")).json["operators"]
    assert {operator["email"]: operator["status"] for operator in listed}[olga.email] == "closed"
    link = await invite(service, olga.email)
    assert await sign_in(olga) == 401
    (await olga.form(link, {"password": PASSWORD})).ok(303)
    (await olga.send("GET", "/operator")).ok()


async def test_what_is_no_email_is_refused(service: Service) -> None:
    with pytest.raises(OperatorRefusedError, match="olga is not an email address"):
        await invite(service, "olga")


async def test_nobody_else_sees_anything(alice: Actor) -> None:
    """Alice has a session of a merchant's, and it counts for nothing here; nor does it under the operators' name."""
    secret = next(iter(alice.http.cookie_jar)).value
    headers = {"Cookie": f"tollhouse_operator={secret}"}
    pages = [operation for operation in operations(PAGES) if operation.full_path.startswith("/operator")]
    guarded = [page for page in pages if page.guard.label.startswith("operator")]
    assert len(guarded) == len(pages) - len(OPEN)
    for operation in guarded:
        path = NAMED.sub(alice.merchant_id, operation.full_path)
        answer = (await alice.send(operation.method, path)).ok(303)
        wanted = "/operator/signin" if path == "/operator" else "/operator/signin?to=%2Foperator"
        assert answer.location.startswith(wanted)
        (await alice.anonymously(operation.method, path, headers=headers)).ok(303)
    (await alice.get("/balances")).ok()


async def test_an_operators_session_opens_nothing_of_a_merchants(olga: Actor) -> None:
    assert (await olga.send("GET", "/test/home")).ok(303).location == signed_out("/test/home")
    (await olga.dashboard("GET", "/session")).refused("authentication_required", 401)
    headers = {"Cookie": f"tollhouse_session={cookie_of(olga)}"}
    (await olga.anonymously("GET", "/api/v2/merchant/session", headers=headers)).refused("authentication_required", 401)
    (await olga.dashboard("POST", "/login", {"email": olga.email, "password": PASSWORD})).refused("invalid_credentials", 401)


async def test_a_merchants_person_cannot_sign_in_here(alice: Actor) -> None:
    assert await sign_in(alice) == 401


async def test_signing_out_ends_the_session_on_the_server(olga: Actor) -> None:
    headers = {"Cookie": f"tollhouse_operator={cookie_of(olga)}"}
    (await olga.anonymously("GET", "/operator", headers=headers)).ok()
    assert (await olga.form("/operator/signout", {})).ok(303).location == "/operator/signin"
    (await olga.anonymously("GET", "/operator", headers=headers)).ok(303)
    (await olga.form("/operator/signout", {})).ok(303)


@pytest.mark.parametrize(
    "age",
    ["last_seen_at = now() - interval '31 minutes'", "expires_at = now() - interval '1 ms'", "ended_at = now()"],
)
async def test_a_session_ends_by_the_clock_alone(olga: Actor, age: str) -> None:
    row = "WHERE operator_id = (SELECT id FROM operators WHERE email = $1)"
    [lasts] = await olga.sql(f"SELECT expires_at - created_at AS span FROM operator_sessions {row}", olga.email)  # noqa: S608
    assert lasts["span"].total_seconds() == 12 * 3600
    await olga.sql(f"UPDATE operator_sessions SET {age} {row}", olga.email)  # noqa: S608
    (await olga.send("GET", "/operator")).ok(303)


@pytest.mark.parametrize(
    ("to", "goes"),
    [
        ("/operator/projects", "/operator/projects"),
        ("/operator/projects?page=2", "/operator/projects?page=2"),
        ("https://evil.example", "/operator"),
        ("//evil.example", "/operator"),
        ("/operator/../signin", "/operator"),
        ("/operator/.?a", "/operator"),
        ("/operatorevil", "/operator"),
        ("", "/operator"),
    ],
)
async def test_after_signing_in_one_goes_on_to_a_page_of_ours(olga: Actor, to: str, goes: str) -> None:
    fields = {"email": olga.email, "password": PASSWORD, "to": to}
    assert (await olga.form("/operator/signin", fields)).ok(303).location == goes


async def test_a_form_sent_too_late_comes_back_to_its_page(service: Service, alice: Actor) -> None:
    async with visitor(service) as late:
        answer = await late.form(f"/operator/merchants/{alice.merchant_id}/suspend", {"reason": "Fraud"})
    assert answer.ok(303).location == f"/operator/signin?to=%2Foperator%2Fmerchants%2F{alice.merchant_id}%2Fsuspend"
    (await alice.get("/balances")).ok()


@pytest.mark.parametrize(
    "headers",
    [{"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "https://evil.example"}],
)
async def test_another_site_cannot_use_the_session(olga: Actor, alice: Actor, headers: dict[str, str]) -> None:
    for path, fields in (
        (f"/operator/merchants/{alice.merchant_id}/suspend", {"reason": "Fraud"}),
        ("/operator/signin", {"email": olga.email, "password": PASSWORD}),
    ):
        (await olga.send("POST", path, data=fields, headers=headers)).refused("cross_origin_forbidden", 403)
    (await alice.get("/balances")).ok()


def test_the_cookie_is_bound_to_the_host_over_https() -> None:
    secure = load({"TOLLHOUSE_BASE_URL": "https://pay.example"})
    assert cookie_name(secure, "operator") == "__Host-tollhouse_operator"


@pytest.fixture
def strict(make_service: Callable[..., Service]) -> Service:
    """A house that counts failures, with small numbers."""
    return make_service(
        fresh=True,
        TOLLHOUSE_RATE_LIMITS="on",
        TOLLHOUSE_RATE_SIGNIN_ACCOUNT=str(OF_ACCOUNT),
        TOLLHOUSE_RATE_SIGNIN_ADDRESS=str(FROM_ADDRESS),
    )


@pytest.fixture
async def guessed(strict: Service) -> AsyncIterator[Actor]:
    """An operator there."""
    async with signed_in_operator(strict) as actor:
        await actor.sql("DELETE FROM failed_attempts")
        yield actor


async def test_guessing_is_slowed_down_by_account_and_by_address(guessed: Actor) -> None:
    assert [await sign_in(guessed, "a wrong password") for _ in range(OF_ACCOUNT + 1)] == [401] * OF_ACCOUNT + [429]
    answer = await guessed.form("/operator/signin", {"email": guessed.email, "password": PASSWORD})
    assert 1 <= int(answer.ok(429).headers["Retry-After"]) <= 15 * 60
    (await guessed.send("GET", "/operator")).ok()
    others = [await sign_in(guessed, email=f"nobody-{n}@house.example") for n in range(FROM_ADDRESS)]
    assert others == [401] * (FROM_ADDRESS - OF_ACCOUNT) + [429] * OF_ACCOUNT
    merchant = {"email": guessed.email, "password": PASSWORD}
    (await guessed.dashboard("POST", "/login", merchant)).refused("invalid_credentials", 401)
    await guessed.sql(AGED)
    assert await sign_in(guessed) == 303


async def test_signing_in_again_ends_the_session_before(olga: Actor) -> None:
    before = {"Cookie": f"tollhouse_operator={cookie_of(olga)}"}
    (await olga.form("/operator/signin", {"email": olga.email, "password": PASSWORD})).ok(303)
    assert (await olga.anonymously("GET", "/operator", headers=before)).ok(303).location.startswith("/operator/signin")
    (await olga.send("GET", "/operator")).ok()
