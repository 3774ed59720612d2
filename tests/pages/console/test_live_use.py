"""In live use operators have a second factor, and authenticated recently for what they decide. Every operation is tried."""

from collections.abc import AsyncIterator, Iterator
from uuid import uuid4

import pytest

from tests.accounts.merchants.authenticator import enrol
from tests.accounts.passkeys.forms import add_by_page
from tests.accounts.passkeys.soft_authenticator import new_passkey
from tests.cast import PASSWORD, Actor, Answer, sign_up
from tests.ledger.accounting.conftest import DATEV
from tests.pages.console.operator_pages import invite, signed_in_operator, visitor
from tests.rails.bank.camt import ACCOUNT
from tests.running import Service, settings_for
from tollhouse.accounts.identity.guards import PublicGuard
from tollhouse.accounts.identity.operators import OperatorGuard
from tollhouse.http.cookies import SAFE
from tollhouse.http.operations import Operation
from tollhouse.instance.api import OPERATIONS
from tollhouse.instance.database import embedded

AGED = """
    UPDATE operator_sessions
    SET created_at = created_at - interval '15 minutes', proved_at = proved_at - interval '15 minutes'
"""
OWN_ACCOUNT = {
    "GET /operator/security",
    "GET /operator/security/off",
    "GET /operator/security/passkeys/new",
    "GET /operator/security/setup",
    "GET /operator/stepup",
    "POST /operator/security/backup-codes",
    "POST /operator/security/confirm",
    "POST /operator/security/off",
    "POST /operator/security/passkeys",
    "POST /operator/security/passkeys/{passkey_id}/remove",
    "POST /operator/security/passkeys/{passkey_id}/rename",
    "POST /operator/security/setup",
    "POST /operator/stepup",
}
"""What an operator without a second factor can do."""
WITHOUT_SESSION = {
    "GET /operator/signin",
    "GET /operator/signin/2fa",
    "GET /operator/welcome/{secret}",
    "POST /operator/signin",
    "POST /operator/signin/2fa",
    "POST /operator/signout",
    "POST /operator/welcome/{secret}",
}
DESK = [operation for operation in OPERATIONS if operation.full_path.split("/")[1] == "operator"]
BROWSER = {"Accept": "text/html", "Sec-Fetch-Site": "same-origin"}


def named(operation: Operation) -> str:
    """`GET /operator`."""
    return f"{operation.method} {operation.full_path}"


async def attempt(actor: Actor, operation: Operation, **headers: str) -> Answer:
    """The operation on things that are not there."""
    path = operation.full_path
    for name in [part[1:-1] for part in path.split("/") if part.startswith("{")]:
        path = path.replace(f"{{{name}}}", str(uuid4()))
    body = {} if operation.method in SAFE else {"data": {"reason": "x"}}
    return await actor.send(operation.method, path, headers={"Sec-Fetch-Site": "same-origin", **headers}, **body)


@pytest.fixture(scope="module")
def live(server: embedded.Server) -> Iterator[Service]:
    """A service that has a bank account, and an accountant's numbers: each page answers."""
    with Service(settings_for(server.cluster.dsn, fresh=True, **ACCOUNT, **DATEV)) as running:
        yield running


@pytest.fixture
async def newcomer(live: Service) -> AsyncIterator[Actor]:
    """An operator without a second factor."""
    email = f"otto-{uuid4().hex[:12]}@house.example"
    async with visitor(live, email) as actor:
        (await actor.form(await invite(live, email), {"password": PASSWORD})).ok(303)
        yield actor


def test_each_operation_of_the_desk_is_guarded() -> None:
    assert {named(page) for page in DESK if isinstance(page.guard, PublicGuard)} == WITHOUT_SESSION
    guarded = [page for page in DESK if not isinstance(page.guard, PublicGuard)]
    assert all(isinstance(one.guard, OperatorGuard) for one in guarded)
    assert {named(one) for one in guarded if isinstance(one.guard, OperatorGuard) and one.guard.own_account} == OWN_ACCOUNT


async def test_without_a_second_factor_nothing_opens_but_setting_one_up(newcomer: Actor) -> None:
    for operation in DESK:
        if named(operation) in OWN_ACCOUNT | WITHOUT_SESSION:
            continue
        (await attempt(newcomer, operation)).refused("second_factor_required", 403)
    shown = (await newcomer.send("GET", "/operator", headers=BROWSER)).ok(403).text
    assert 'href="/operator/security"' in shown
    await enrol(newcomer, "/operator/security")
    (await newcomer.send("GET", "/operator", headers=BROWSER)).ok()


async def test_the_last_factor_stays(newcomer: Actor) -> None:
    root = "/operator/security"
    authenticator = await enrol(newcomer, root)
    needed = "Operators need two-factor authentication in live use. Add another factor first."
    assert needed in (await newcomer.form(f"{root}/off", {"code": authenticator.code()})).ok(409).text
    (await add_by_page(newcomer, new_passkey(newcomer), root)).ok(303)
    (await newcomer.form(f"{root}/off", {"code": authenticator.code()})).ok(303)
    [row] = await newcomer.sql(
        "SELECT id FROM passkeys WHERE holder_id = (SELECT id FROM operators WHERE email = $1)", newcomer.email
    )
    assert needed in (await newcomer.form(f"{root}/passkeys/{row['id']}/remove", {})).ok(409).text


async def test_what_changes_anything_needs_recent_authentication(live: Service) -> None:
    async with signed_in_operator(live) as olga:
        await olga.sql(AGED)
        for operation in DESK:
            if named(operation) in WITHOUT_SESSION or named(operation) == "POST /operator/stepup":
                continue
            answer = await attempt(olga, operation)
            if operation.method in SAFE:
                assert answer.status in {200, 303, 404}, f"{named(operation)}: {answer.status}"
            else:
                answer.refused("recent_authentication_required", 403)


async def test_a_form_is_carried_and_done_with_the_password_and_a_code(live: Service) -> None:
    email = f"olga-{uuid4().hex[:12]}@house.example"
    async with visitor(live, email) as olga, sign_up(live, "alice", "Alice's Coffee") as alice:
        (await olga.form(await invite(live, email), {"password": PASSWORD})).ok(303)
        authenticator = await enrol(olga, "/operator/security")
        await olga.sql(AGED)
        path = f"/operator/merchants/{alice.merchant_id}/suspend"
        form = {"reason": "Chargebacks"}
        asked = (await olga.send("POST", path, data=form, headers=BROWSER)).ok(403).text
        assert 'name="reason" value="Chargebacks"' in asked
        proof = {"stepup_password": "wrong, all of it", "stepup_code": authenticator.code()}
        (await olga.send("POST", path, data=form | proof, headers=BROWSER)).ok(403)
        without_code = {"stepup_password": PASSWORD, "stepup_code": "000000"}
        (await olga.send("POST", path, data=form | without_code, headers=BROWSER)).ok(403)
        (await alice.get("/balances")).ok()
        proof = {"stepup_password": PASSWORD, "stepup_code": await authenticator.next_code(olga)}
        (await olga.send("POST", path, data=form | proof, headers=BROWSER)).ok(303)
        (await alice.get("/balances")).refused("account_suspended", 403)
        (await olga.form(path.replace("suspend", "reactivate"), form)).ok(303)


async def test_a_file_is_sent_again_after_confirming(live: Service) -> None:
    email = f"olga-{uuid4().hex[:12]}@house.example"
    async with visitor(live, email) as olga:
        (await olga.form(await invite(live, email), {"password": PASSWORD})).ok(303)
        authenticator = await enrol(olga, "/operator/security")
        await olga.sql(AGED)
        headers = {"Sec-Fetch-Site": "same-origin", "Content-Type": "multipart/form-data; boundary=x"}
        there = (await olga.send("POST", "/operator/statements", data=b"--x--", headers=headers)).ok(303).location
        assert there == "/operator/stepup?to=%2Foperator%2Fstatements"
        page = (await olga.send("GET", there)).ok().text
        assert "Confirm your password" in page
        assert '<a href="/operator/statements">Cancel</a>' in page
        code = await authenticator.next_code(olga)
        fields = {"to": "/operator/statements", "stepup_password": PASSWORD, "stepup_code": code}
        assert (await olga.form("/operator/stepup", fields)).ok(303).location == "/operator/statements"
        assert (await olga.form("/operator/stepup", fields | {"to": "https://evil.example"})).status in {303, 422, 401, 403}
        (await olga.send("GET", "/operator/statements")).ok()


async def test_on_ones_own_machine_neither_is_asked_for(olga: Actor) -> None:
    await olga.sql(AGED)
    (await olga.send("GET", "/operator")).ok()
    (await olga.form(f"/operator/merchants/{uuid4()}/suspend", {"reason": "x"})).ok(404)
