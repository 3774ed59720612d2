"""The reference as pages: everything of the document is there, its samples work, and it can be tried in a browser."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from typing import Any

import msgspec
import pytest
from playwright.async_api import Browser, expect
from pygments.lexers import get_lexer_by_name  # pyright: ignore[reportUnknownVariableType]
from pygments.token import Token

from tests.browser import WIDE, Look, by_look, in_a_browser, visitor
from tests.cast import Actor
from tests.running import Service
from tollhouse.instance.api import descriptions, reference
from tollhouse.instance.docs.entries import GROUPS, entries
from tollhouse.instance.docs.error_pages import error_pages
from tollhouse.instance.docs.reference import error_codes
from tollhouse.instance.docs.shapes import SchemaTables
from tollhouse.platform.settings import config

HREF = re.compile(r'href="(/[^"#]+)')
BLOCK = re.compile(r"^```(sh|python|php|js)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LEXERS = {"php": get_lexer_by_name("php", startinline=True), "js": get_lexer_by_name("js")}
ENTRIES = entries(msgspec.json.decode(reference.encoded(config.load({}))))
OPERATION = """
- navigation "Breadcrumb":
  - link "API reference"
  - link "View as Markdown"
- heading "Create a payment link" [level=1]
- paragraph
- paragraph
- article "Parameters, responses and errors":
  - heading "Headers" [level=2]
  - list
  - heading "Body parameters" [level=2]
  - list
  - heading "Returns" [level=2]
  - paragraph
  - group
  - heading "Errors" [level=2]
  - table "Errors"
  - group
- region "Request example":
  - group "Request example":
    - radio "cURL" [checked]
    - radio "Python"
    - radio "JavaScript"
    - radio "PHP"
  - button "Copy Request example"
- region "Response":
  - heading "Response" [level=2]
  - button "Copy Response"
- link "Try it"
"""
TRY_IT = """
- heading "Try it" [level=1]
- combobox "Operation"
- button "Select operation"
- textbox "API key"
- heading "Create a payment link" [level=2]
- paragraph:
  - link "View reference"
- textbox "Idempotency-Key"
- textbox "Request body (JSON)"
- button "Send"
- status
"""


def test_everything_belongs_to_one_group() -> None:
    for entry in ENTRIES.values():
        if entry.path:
            assert [group for group, beginnings in GROUPS.items() if entry.path.startswith(beginnings)] == [entry.group]
    assert {entry.group for entry in ENTRIES.values()} == {*GROUPS, "Events"}


def test_every_parameter_and_title_says_what_it_is() -> None:
    """The pages have no other source than the document, and the sidebar has room for a few words."""
    document = msgspec.json.decode(reference.encoded(config.load({})))
    shapes = SchemaTables(document["components"])
    bare = list[str]()
    for name, entry in ENTRIES.items():
        assert len(entry.title) <= 50, entry.title
        if entry.path:
            contents = entry.shown.get("requestBody", {}).get("content", {}).values()
            members = [
                member for content in contents for group in shapes.groups(content["schema"]) for member in group.members
            ]
            members += [
                shapes.member(
                    parameter["name"], parameter["schema"], is_required=True, about=parameter.get("description", "")
                )
                for parameter in entry.shown["parameters"]
            ]
            bare += [f"{name}.{member.name}" for member in members if not member.meaning and not member.groups]
    assert bare == []


def test_usual_descriptions_are_used() -> None:
    document = msgspec.json.decode(reference.encoded(config.load({})))
    schemas = document["components"]["schemas"]
    members = [one for schema in schemas.values() for one in schema.get("properties", {}).items()]
    for name, about in descriptions.MEMBERS.items():
        assert any(one == name and member.get("description") == about for one, member in members), name
    operations = [shown for methods in document["paths"].values() for shown in methods.values()]
    parameters = [
        (parameter["in"], parameter["name"], parameter.get("description"))
        for shown in operations
        for parameter in shown["parameters"]
    ]
    for place, usual in descriptions.DESCRIPTIONS.parameters.items():
        for name, about in usual.items():
            assert (place, name, about) in parameters, (place, name)


async def test_the_contents_lead_to_every_entry(alice: Actor) -> None:
    shown = (await alice.anonymously("GET", "/docs/api")).ok().text
    assert all(f'href="/docs/api/{name}"' in shown for name in ENTRIES)
    written = (await alice.anonymously("GET", "/docs/api.md")).ok()
    assert written.headers["content-type"].startswith("text/markdown")
    assert all(f"](/docs/api/{name}.md)" in written.text for name in ENTRIES)


@pytest.mark.long
async def test_every_entry_is_served_as_page_and_as_markdown(alice: Actor) -> None:
    led_to: set[str] = set()
    for name, entry in ENTRIES.items():
        shown = (await alice.anonymously("GET", f"/docs/api/{name}")).ok().text
        assert shown.count("<h1") == 1
        ids = re.findall(r' id="([^"]+)"', shown)
        assert len(ids) == len(set(ids)), name
        led_to |= set(HREF.findall(shown))
        written = (await alice.anonymously("GET", f"/docs/api/{name}.md")).ok().text
        assert f"# {entry.title}" in written
        assert "{'" not in written, "something was written as Python writes it"
        for language, text in BLOCK.findall(written):
            if language in LEXERS:
                assert not [value for kind, value in LEXERS[language].get_tokens(text) if kind is Token.Error]
            else:
                assert shlex.split(text) if language == "sh" else compile(text, name, "exec")
    for address in sorted(led_to - {f"/docs/api/{name}" for name in ENTRIES} - {f"/docs/api/{name}.md" for name in ENTRIES}):
        (await alice.anonymously("GET", address)).ok()


async def test_the_codes_are_listed(alice: Actor) -> None:
    written = (await alice.anonymously("GET", "/docs/api/errors.md")).ok().text
    assert (
        "- **`application_changed`** 409. The application has changed since you loaded it. Reload it and try again.\\\n"
        "  [Cause and solution](/docs/errors/application_changed.md) · [save_client]" in written
    )
    assert (
        "- **`temporarily_unavailable`** 503. The service is temporarily unavailable. Nothing was changed. Try again. 429."
        in written
    )


@pytest.mark.long
async def test_every_code_has_its_page_to_which_its_answers_lead(alice: Actor) -> None:
    pages = error_pages(ENTRIES)
    assert {code for entry in ENTRIES.values() for _, code, _ in error_codes(entry.shown)} <= set(pages)
    assert {"method_not_allowed", "request_timeout", "misdirected_request"} <= set(pages)
    for code in pages:
        shown = (await alice.anonymously("GET", f"/docs/errors/{code}")).ok().text
        assert all(f">{title}</h2>" in shown for title in ("What to do", "Message"))
        assert f"# {code}\n" in (await alice.anonymously("GET", f"/docs/errors/{code}.md")).ok().text
    refused = (await alice.get("/transactions/none")).refused("not_found", 404)
    assert refused.body["doc_url"] == f"{alice.service.url}/docs/errors/not_found"
    unknown = (await alice.anonymously("POST", "/api/v2/oauth/token")).refused("invalid_request", 400)
    assert unknown.body["doc_url"].endswith("/docs/errors/invalid_request")
    (await alice.anonymously("GET", "/docs/errors/nothing")).refused("not_found", 404)


@pytest.mark.parametrize("name", ["nothing", "nothing.md", "open_link.md.md", "errors.md.md"])
async def test_what_is_no_entry_is_not_there(alice: Actor, name: str) -> None:
    (await alice.anonymously("GET", f"/docs/api/{name}")).refused("not_found", 404)
    (await alice.anonymously("GET", f"/docs/try?operation={name}")).refused("not_found", 404)


async def samples_of(actor: Actor, name: str) -> dict[str, str]:
    """The samples of an operation, by their language."""
    return dict(BLOCK.findall((await actor.anonymously("GET", f"/docs/api/{name}.md")).ok().text))


@pytest.mark.long
async def test_the_samples_work(alice: Actor) -> None:
    key = await alice.key()
    environment = {**os.environ, "KEY": key, "NO_PROXY": "*"}
    for name in ("list_balances", "open_link"):
        samples = await samples_of(alice, name)
        said = subprocess.run(
            ["bash", "-c", samples["sh"].replace("curl", "curl -fsS", 1).replace("order-1001", f"sh-{name}")],
            env=environment, capture_output=True, check=True, text=True,
        ).stdout  # fmt: skip
        assert msgspec.json.decode(said)
        script = f"key = {key!r}\n{samples['python'].replace('order-1001', f'python-{name}')}\nprint(response.text)"
        said = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, check=True, text=True
        ).stdout
        assert msgspec.json.decode(said)
        if shutil.which("node"):
            script = f"const key = {key!r};\n{samples['js'].replace('order-1001', f'js-{name}')}\nconsole.log(result);"
            command = ["node", "--input-type=module", "-e", script]
            assert subprocess.run(command, env=environment, capture_output=True, check=True, text=True).stdout


async def test_the_bodies_of_the_examples_are_accepted(alice: Actor) -> None:
    """As they stand in the reference; those that name an object of another deed are tried elsewhere."""
    (await alice.post("/test/balances/fund", example("fund"))).ok(201)
    (await alice.dashboard("POST", "/webhook-secret/generate", example("generate_secret"))).ok()
    (await alice.dashboard("POST", "/webhook-secret/activate", example("activate_secret"))).ok()

    (await alice.dashboard("POST", "/api-keys", example("make_api_key"))).ok(201)
    client = (await alice.dashboard("POST", "/oauth/clients", example("register_client"))).ok(201).body["client_id"]
    (await alice.dashboard("PUT", f"/oauth/clients/{client}", example("save_client"))).ok()
    (await alice.call("PUT", "/settings", example("save_settings"))).ok()
    for path, name, status in (
        ("/payment-links", "open_link", 201),
        ("/withdrawal-quotes", "quote_withdrawal", 201),
        ("/withdrawals", "request_withdrawal", 201),
        ("/conversion-quotes", "quote_conversion", 201),
        ("/conversions", "convert", 201),
        ("/conversion-rules", "make_rule", 201),
        ("/fulfillments", "order_fulfillment", 201),
        ("/test/clock/advance", "advance_clock", 200),
    ):
        (await alice.post(path, example(name), key=f"example-{name}")).ok(status)
    (await alice.dashboard("POST", "/projects", example("open_project"))).ok(201)


def example(name: str) -> Any:
    """The body that the reference shows."""
    return ENTRIES[name].shown["requestBody"]["content"]["application/json"]["example"]


@pytest.mark.long
@in_a_browser
@by_look(WIDE)
async def test_the_reference_in_a_browser(look: Look, browser: Browser, service: Service, alice: Actor) -> None:
    async with visitor(browser, look, service.url) as someone:
        page = someone.page
        await page.goto(f"{service.url}/docs/api")
        await someone.see("reference-contents")
        await page.click("article >> text=Create a payment link")
        await expect(page.locator("h1")).to_have_text("Create a payment link")
        await expect(page.locator("main")).to_match_aria_snapshot(OPERATION)
        await someone.see("reference-operation")
        for name in ("errors", "payment.expired", "list_transactions"):
            await page.goto(f"{service.url}/docs/api/{name}")
            await someone.glance(f"reference-{name}")
        await page.goto(f"{service.url}/docs/errors/temporarily_unavailable")
        await someone.glance("reference-error-code")
        await page.goto(f"{service.url}/docs/try")
        await expect(page.locator("article")).to_match_aria_snapshot(TRY_IT)
        await page.fill("#key", await alice.key("live"))
        assert not await page.locator("#key").evaluate("field => field.checkValidity()")
        await page.fill("#key", await alice.key())
        await page.get_by_role("button", name="Send").click()
        await expect(page.locator("[data-said]")).to_contain_text("201")
        await someone.see("reference-try")
        await page.select_option("#operation", "list_links")
        await page.get_by_role("button", name="Select operation").click()
        await expect(page.locator("#trial h2")).to_contain_text("List payment links")
        await page.fill("#query-limit", "1")
        await page.get_by_role("button", name="Send").click()
        await expect(page.locator("#trial pre")).to_contain_text('"display_name": "Coffee"')
        await expect(page).to_have_url(re.compile(r"\?operation=list_links$"))
        await someone.sign_in(alice)
        await page.goto(f"{service.url}/docs/api/open_link")
        await someone.see("reference-signed-in")
        await page.get_by_role("button", name="Create test key for this example").click()
        await expect(page.get_by_text("The examples contain it.")).to_be_visible()
        await someone.see("reference-with-key")
