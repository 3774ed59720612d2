"""After sign-in, sign-up and confirmation people get the page that they asked for, and never another site."""

import html
from urllib.parse import urlencode
from uuid import uuid4

import pytest

from tests.accounts.merchants.authenticator import enrol
from tests.accounts.merchants.test_second_factor import elsewhere
from tests.cast import PASSWORD, Actor
from tests.forms import hidden, signed_out

DEEP_LINKS = (
    "/live/payments",
    "/test/payments?status=failed&reference=a+b%26c%25",
    "/live/payments/0190a000-0000-7000-8000-000000000000",
    "/test/reports?period=custom&since=2026-01-01&to=2026-02-01",
    "/developers/apps",
    "/live/developers/apps",
    "/settings/security",
    "/test/settings/business?done=saved",
    "/settings/audit?q=%C3%BC&from=(a)*!'~@,;:/$",
)
HOSTILE = (
    "https://evil.example",
    "http:evil.example",
    "//evil.example",
    "///evil.example",
    "\\\\evil.example",
    "/\\evil.example",
    "\\/evil.example",
    "/live\\..\\evil",
    "/%2f%2fevil.example",
    "/%5cevil.example",
    "/live//evil.example",
    "/test/../..//evil.example",
    "/live/payments\\",
    "/live/payments?a=\\evil",
    "/live/payments#//evil.example",
    "/\tlive/payments",
    "/live/\tpayments",
    "/live/payments\r\nSet-Cookie: a=b",
    "/live/payments\n",
    "\n/live/payments",
    " /live/payments",
    "/live/payments\u2028",
    "/live/päyments",
    "javascript:alert(1)",
    "live/payments",
    "/livery",
    "/signout",
    "/operator",
    "/oauth/consent/abc",
    "/live@evil.example",
    "/live/payments?" + "a" * 2001,
    "",
)


async def sign_in_again(actor: Actor, location: str) -> str:
    """Open the sign-in page, sign in there as a browser would, and say where that leads."""
    page = (await actor.send("GET", location)).ok()
    return (await actor.form("/signin", hidden(page) | {"email": actor.email, "password": PASSWORD})).ok(303).location


@pytest.mark.parametrize("path", DEEP_LINKS)
async def test_a_deep_link_survives_signing_in(alice: Actor, path: str) -> None:
    async with elsewhere(alice) as other:
        location = (await other.send("GET", path)).ok(303).location
        assert location == signed_out(path)
        assert await sign_in_again(other, location) == path


async def test_it_survives_a_wrong_password_and_a_new_account(alice: Actor) -> None:
    path = "/live/payments?status=failed&reference=a+b%26c"
    async with elsewhere(alice) as other:
        page = (await other.send("GET", signed_out(path))).ok()
        assert f'href="{html.escape(signed_out(path).replace("/signin", "/signup"))}"' in page.text
        wrong = (await other.form("/signin", hidden(page) | {"email": alice.email, "password": "wrong password"})).ok(401)
        assert hidden(wrong)["to"] == path
        page = (await other.send("GET", signed_out(path).replace("/signin", "/signup"))).ok()
        assert f'href="{html.escape(signed_out(path))}"' in page.text
        fields = hidden(page) | {"email": "taken", "password": PASSWORD, "business_name": "New"}
        refused = (await other.form("/signup", fields)).ok(422)
        fields = hidden(refused) | {
            "email": f"new-{uuid4().hex[:12]}@example.com",
            "password": PASSWORD,
            "business_name": "New",
        }
        assert (await other.form("/signup", fields)).ok(303).location == path
        (await other.send("GET", path)).ok()


async def test_it_survives_the_second_factor(alice: Actor) -> None:
    authenticator = await enrol(alice)
    path = "/live/developers/keys?done=x"
    async with elsewhere(alice) as other:
        location = await sign_in_again(other, signed_out(path))
        assert location == signed_out(path).replace("/signin", "/signin/2fa")
        page = (await other.send("GET", location)).ok()
        assert f'href="{html.escape(signed_out(path))}"' in page.text, "back to sign-in"
        wrong = (await other.form("/signin/2fa", hidden(page) | {"code": "000000"})).ok(401)
        right = await other.form("/signin/2fa", hidden(wrong) | {"code": authenticator.code()})
        assert right.ok(303).location == path
        late = await other.form("/signin/2fa", hidden(wrong) | {"code": authenticator.code()})
        assert late.ok(303).location == signed_out(path), "the password is asked for again"


@pytest.mark.parametrize(
    ("form", "page"),
    [
        ("/live/developers/keys", "/live/developers/keys"),
        ("/live/payments/{id}/refund", "/live/payments/{id}/refund"),
        ("/live/payments/{id}/refund/confirm", "/live/payments/{id}/refund"),
        ("/test/withdrawals/{id}/cancel", "/test/withdrawals/{id}"),
        ("/live/withdrawals/new/bank:EUR/confirm", "/live/withdrawals/new/bank:EUR"),
        ("/live/conversions/new/confirm", "/live/conversions/new"),
        ("/settings/business", "/settings/business"),
        ("/settings/sessions/{id}/end", "/settings/sessions"),
        ("/developers/apps/{id}/pause", "/developers/apps/{id}"),
    ],
)
async def test_an_expired_session_returns_to_the_page_of_the_form(alice: Actor, form: str, page: str) -> None:
    name = str(uuid4())
    await alice.sql(
        "UPDATE sessions SET expires_at = now() - interval '1 ms' FROM users u WHERE u.id = user_id AND u.email = $1",
        alice.email,
    )
    answer = await alice.form(form.replace("{id}", name), {"to": "/test/elsewhere"})
    assert answer.ok(303).location == signed_out(page.replace("{id}", name))


async def test_confirming_the_password_after_the_session_ended(alice: Actor) -> None:
    path = "/live/settings/security/setup"
    query = urlencode({"to": path})
    async with elsewhere(alice) as other:
        assert (await other.send("GET", f"/stepup?{query}")).ok(303).location == signed_out(path)
        assert (await other.form("/stepup", {"to": path, "stepup_password": PASSWORD})).ok(303).location == signed_out(path)
        assert (await other.send("GET", "/stepup?to=%zz")).ok(303).location == "/signin"
        assert (await other.send("POST", "/stepup", json={})).ok(303).location == "/signin"


@pytest.mark.long
async def test_no_other_site_and_no_other_page(alice: Actor) -> None:
    for to in HOSTILE:
        fields = {"email": alice.email, "password": PASSWORD, "to": to}
        async with elsewhere(alice) as other:
            page = (await other.send("GET", f"/signin?{urlencode({'to': to})}")).ok()
            assert "to" not in hidden(page)
            assert (await other.form("/signin", fields)).ok(303).location == "/"
            new = fields | {"email": f"new-{uuid4().hex[:12]}@example.com", "business_name": "New"}
            assert (await other.form("/signup", new)).ok(303).location == "/"
        assert (await alice.form("/stepup", {"to": to, "stepup_password": PASSWORD})).ok(303).location == "/"


async def test_a_target_is_named_once(alice: Actor) -> None:
    (await alice.anonymously("GET", "/signin?to=/live/home&to=/test/home")).refused("invalid_request", 400)
    fields = [("email", alice.email), ("password", PASSWORD), ("to", "/live/home"), ("to", "//evil.example")]
    (await alice.form("/signin", fields)).refused("invalid_request", 400)


async def test_home_needs_no_target(alice: Actor) -> None:
    assert (await alice.anonymously("GET", "/")).ok(303).location == "/signin"
    assert (await alice.form("/signout", {})).ok(303).location == "/signin"
