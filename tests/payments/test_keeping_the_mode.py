"""Every link of the dashboard keeps the mode: all pages are walked, in both modes, by a merchant with data in both."""

import html
import re
from collections import deque
from urllib.parse import urljoin, urlsplit
from uuid import uuid4

import pytest

from tests.cast import Actor, application
from tests.payments.courier import COURIER, Courier
from tests.payments.shop import COFFEE, approve_project, choose, open_link, pay
from tests.transfers.withdrawals.steps import asked, fund
from tollhouse.kernel import clock
from tollhouse.kernel.rails.provider import Observation
from tollhouse.payments.refunds import reversals

pytestmark = pytest.mark.long

LINK = re.compile(r'<(?:a|form|button)\s[^>]*?(?<=\s)(?:href|action|formaction)="([^"]*)"[^>]*>')
FORM = re.compile(r'<(?:form|button)\s[^>]*?(?<=\s)(?:form)?action="([^"]*)"')
MENU = re.compile(r'href="/(live|test)/balances"')
DASHBOARD = ("/live/", "/test/", "/developers/", "/settings/")
PAGES_MAX = 600


async def sell_live(actor: Actor, courier: Courier) -> None:
    """A live payment that has succeeded."""
    await approve_project(actor, "live")
    link = (await actor.post("/payment-links", COFFEE, mode="live")).ok(201).body
    (await choose(link, COURIER.method_id)).ok(303)
    [paid] = (await actor.get("/transactions", mode="live")).ok().body["transactions"]
    seen = Observation(
        reference=f"ticket-{paid['id']}", outcome="confirmed", external_ref=str(uuid4()), amount_minor=420, currency="EUR"
    )
    services = actor.service.create_services(connections=2)
    assert await reversals.observe(services, courier.name, courier.mode, seen, clock.now()) is not None
    await services.db.close()


async def fill(alice: Actor, bob: Actor, courier: Courier) -> None:
    """Objects in both modes, and of the account."""
    await sell_live(alice, courier)
    await pay(await open_link(alice))
    await fund(alice)
    await asked(alice)
    own = await application(alice)
    for merchant, app in ((alice, await application(bob)), (bob, own)):
        for mode in ("test", "live"):
            tokens = await app.connect(merchant, "account:read", mode=mode)
            assert tokens
    await alice.key("test")
    await alice.key("live")


def links_of(page: str, path: str) -> list[str]:
    """Where the links and forms of a page lead on the dashboard, but for downloads."""
    found = (urljoin(path, html.unescape(match)) for match in LINK.findall(page))
    return [path for path in found if path.startswith(DASHBOARD) and "." not in urlsplit(path).path]


def without_mode(path: str) -> str:
    """The path after the mode."""
    return re.sub(r"^/(live|test)(?=/)", "", urlsplit(path).path)


async def walk(actor: Actor, start: str, mode: str) -> set[str]:
    """Follow every link from here but the switch, which each page has once; the pages that were reached."""
    other = "live" if mode == "test" else "test"
    waiting, reached, forms = deque([start]), {start}, set[str]()
    while waiting and len(reached) < PAGES_MAX:
        path = waiting.popleft()
        answer = await actor.send("GET", path, headers={"Accept": "text/html"})
        if answer.status in {404, 405} and path in forms:
            continue  # only a form is sent there
        if answer.status == 303:
            page, found = "", [answer.location]
        else:
            assert answer.status == 200, path
            page = answer.text
            found = links_of(page, path)
            assert f"/{mode}/payments" in found or "/preview" in path, path  # the consent page has no menu
            assert all(path.startswith(("/live/", "/test/")) for path in found), path
        switches = {path for path in found if path.startswith(f"/{other}/")}
        assert len(switches) <= 1, (path, switches)
        assert all(without_mode(path).startswith(without_mode(switch)) for switch in switches), (path, switches)
        forms |= {html.unescape(match) for match in FORM.findall(page)}
        new = [path for path in found if path not in reached and path not in switches]
        reached.update(new)
        waiting.extend(new)
    return reached


@pytest.mark.parametrize("mode", ["live", "test"])
async def test_no_link_changes_the_mode(alice: Actor, bob: Actor, courier: Courier, mode: str) -> None:
    await fill(alice, bob, courier)
    walked = await walk(alice, f"/{mode}/home", mode)
    assert len(walked) < PAGES_MAX, "the walk came to its end"
    reached = {urlsplit(one).path for one in walked}
    assert not [one for one in reached if not one.startswith(f"/{mode}/")]
    listed = ("payments", "payment-links", "projects", "developers/events", "developers/apps", "settings/connected-apps")
    for path in (
        "settings/payments",
        "settings/security",
        "settings/sessions",
        "settings/audit",
        "developers/keys",
        *listed,
    ):
        assert f"/{mode}/{path}" in reached, path
    for path in listed:
        assert [one for one in reached if one.startswith(f"/{mode}/{path}/") and not one.endswith("/new")], path


async def test_addresses_without_a_mode_lead_to_the_remembered_one(alice: Actor, bob: Actor, courier: Courier) -> None:
    await fill(alice, bob, courier)
    (await alice.send("GET", "/live/home")).ok()
    for start in ("/settings/business", "/settings/audit", "/settings/connected-apps", "/developers/apps"):
        page = (await alice.send("GET", start)).ok().text
        assert set(MENU.findall(page)) == {"live"}, start
        switches = {one for one in links_of(page, start) if one.startswith("/test/")}
        assert switches <= {f"/test{start}"}, start


async def test_a_form_of_the_account_keeps_the_mode_of_its_page(alice: Actor) -> None:
    path = "/live/settings/business"
    page = (await alice.send("GET", path)).ok().text
    assert f'action="{path}"' in page
    (await alice.send("GET", "/test/home")).ok()  # in another tab
    fields = {"business_name": "New", "time_zone": "UTC", "seen_zone": "UTC", "seen_name": "Alice's Coffee"}
    saved = (await alice.form(path, fields)).ok(303).location
    assert saved.partition("?")[0] == path
    assert set(MENU.findall((await alice.send("GET", saved)).ok().text)) == {"live"}
    old = (await alice.form("/settings/business", fields | {"seen_name": "New"})).ok(303).location
    assert old.partition("?")[0] == "/settings/business", "the old address still works"
