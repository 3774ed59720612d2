"""A page that says why there is none: in each language, with the number of the request and a way on."""

from typing import Any
from uuid import uuid4

import pytest

from tests.cast import Actor, of_the_file
from tests.forms import FOREIGN
from tests.pages.console.operator_pages import signed_in_operator
from tests.running import Service
from tollhouse.http.languages import LANGUAGES
from tollhouse.http.templates import Templates
from tollhouse.kernel import messages
from tollhouse.kernel.errors import ApiError, FieldError, NotFound, ServerError, TemporarilyUnavailable

alice = of_the_file("alice", "Alice's Coffee")
SERVICE = Templates()
HTML = {"Accept": "text/html"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
ASKED: dict[str, tuple[str, str, int, dict[str, Any]]] = {
    "lost": ("GET", "/test/nowhere", 404, {}),
    "a form's address": ("GET", "/signout", 405, {}),
    "from another site": ("POST", "/signout", 403, {"headers": FOREIGN}),
    "no form": ("POST", "/test/withdrawals/new/sandbox:EUR", 400, {"data": "{}", "headers": {"Content-Type": "text/plain"}}),
    "too much": ("POST", "/signin", 413, {"data": "x" * 70_000, "headers": FORM}),
    "typed": ("GET", "/test/payments?limit=0", 422, {}),
}


def shown(error: ApiError, language: str, back: str = "") -> str:
    """The page of a refusal."""
    facts = {"code": error.code, "number": error.status, "message": error.message, "field_errors": error.field_errors}
    layout = {"layout": "http/layout.html", "home": "/"}
    return SERVICE.render("http/error.html", language, request_id="01a2", back=back, theme="", **layout, **facts)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ASKED)
async def test_it_names_the_request_and_leads_on(alice: Actor, name: str, language: str) -> None:
    method, path, status, sent = ASKED[name]
    headers = {"Accept": "text/html", "Accept-Language": language, **sent.get("headers", {})}
    answer = (await alice.send(method, path, **sent | {"headers": headers})).ok(status)
    assert f'<html lang="{language}">' in answer.text
    assert f"<code>{answer.headers['X-Request-Id']}</code>" in answer.text
    assert '<a class="btn" href="/">' in answer.text
    assert f'<p class="meta">{status}</p>' in answer.text


@pytest.mark.parametrize("language", LANGUAGES)
def test_where_it_may_work_again_it_can_be_tried_again(language: str) -> None:
    again = '<a class="btn primary" href="/test/home?period=7d">'
    for error in (ServerError(), TemporarilyUnavailable()):
        assert again in shown(error, language, "/test/home?period=7d")
        assert again not in shown(error, language)
    assert again not in shown(NotFound(), language, "/test/home?period=7d")


def test_what_was_refused_of_an_address_is_said() -> None:
    class Refused(ApiError):
        status = 422

    page = shown(Refused(field_errors=[FieldError("limit", "out_of_range", messages.whole_number(1, 100))]), "de")
    assert "<span><code>limit</code>: Diese Angabe muss eine ganze Zahl von 1 bis 100 sein.</span></li>" in page


@pytest.mark.parametrize(
    "path",
    [
        "/test/nowhere",
        "/live/payments/nowhere",
        "/test/payments/0190a000-0000-7000-8000-000000000000",
        "/nowhere",
        "/settings/x",
    ],
)
async def test_a_signed_in_person_keeps_the_navigation(alice: Actor, path: str) -> None:
    page = (await alice.send("GET", path, headers=HTML)).ok(404).text
    assert "This page or object does not exist." in page
    mode = "live" if path.startswith("/live/") else "test"
    assert f'href="/{mode}/payments"' in page
    assert 'action="/signout"' in page
    stranger = (await alice.anonymously("GET", path, headers=HTML)).text
    assert 'action="/signout"' not in stranger


async def test_an_unknown_address_in_json_stays_an_error(alice: Actor) -> None:
    (await alice.send("GET", "/test/nowhere", headers={"Accept": "application/json"})).refused("not_found", 404)


async def test_an_operator_keeps_the_navigation(service: Service) -> None:
    async with signed_in_operator(service) as olga:
        for path in ("/operator/nowhere", f"/operator/merchants/{uuid4()}"):
            page = (await olga.send("GET", path, headers=HTML)).ok(404).text
            assert 'action="/operator/signout"' in page
            assert '<a class="btn" href="/operator">' in page


@pytest.mark.parametrize("path", ["/pay/nothing", "/pay/nothing?payment=x"])
async def test_a_wrong_checkout_link_does_not_lead_to_an_account(alice: Actor, path: str) -> None:
    for page in (await alice.anonymously("GET", path, headers=HTML), await alice.send("GET", path, headers=HTML)):
        text = page.ok(404).text
        assert "<h1>This payment link does not exist.</h1>" in text
        assert "ask the seller for a new link" in text
        assert 'href="/"' not in text
        assert "/signin" not in text
        assert 'action="/signout"' not in text
    said = (await alice.anonymously("GET", path, headers={"Accept": "application/json"})).refused("not_found", 404)
    assert said.body["error_description"] == "This page or object does not exist."
