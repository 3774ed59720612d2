"""What stands in the audit log: who did what, from where, by pages and by APIs alike, and nothing secret."""

from uuid import UUID, uuid4

import msgspec

from tests.accounts.audit_log.reading import actions_listed, changed, lines, newest
from tests.accounts.merchants.authenticator import elsewhere, enrol, grow_old, log_in
from tests.cast import PASSWORD, Actor, application, consent
from tests.forms import post
from tests.pages.console.commands import operator
from tests.pages.console.test_operator import in_review
from tests.payments.bank import refund, sell
from tests.running import CATALOGUE, Service
from tests.transfers.conversions.steps import convert, rule
from tests.transfers.fulfillments.depot import GEMS
from tests.transfers.withdrawals.steps import asked, cancel, fund, withdraw
from tollhouse.accounts.approvals.model import OperatorContext
from tollhouse.http.services import Work
from tollhouse.kernel import clock
from tollhouse.kernel.actor import OPERATOR
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import MerchantId
from tollhouse.pages.console import actions as operators
from tollhouse.webhooks.endpoints import actions as webhooks
from tollhouse.webhooks.endpoints.model import NewConfiguration

SAVED = {
    "default_currency", "payment_methods", "link_expiry_minutes", "underpayment_tolerance_bps", "overpayment",
    "late_payments", "late_monitoring_days", "success_url", "cancel_url", "branding", "confirmations", "version",
}  # fmt: skip
WORDS = "SELECT string_agg(to_jsonb(audit_lines)::text, ' ') AS words FROM audit_lines WHERE merchant_id = $1::uuid"


async def words(actor: Actor) -> str:
    """All that is kept."""
    [row] = await actor.sql(WORDS, actor.merchant_id)
    return row["words"]


async def test_who_comes_and_goes(alice: Actor) -> None:
    opened = await newest(alice, "account.opened")
    assert (opened["author_kind"], opened["author_name"], opened["address"]) == ("person", alice.email, "127.0.0.1")
    assert (opened["mode"], opened["subject"]) == ("", "")
    async with elsewhere(alice) as one, elsewhere(alice) as two, elsewhere(alice) as three:
        for other in (one, two, three):
            (await other.dashboard("POST", "/login", {"email": alice.email, "password": PASSWORD})).ok()
        (await one.dashboard("POST", "/logout")).ok(204)
        (await one.dashboard("POST", "/logout")).ok(204)
        (await log_in(alice, password=PASSWORD[::-1])).refused("invalid_credentials")
        for _ in range(2):
            await post(alice, "/settings/sessions/others/end")
    assert await actions_listed(alice) == [
        *["session.begun"] * 3,
        "session.ended",
        "session.refused",
        "session.others_ended",
    ]
    assert changed(await newest(alice, "session.others_ended")) == {"sessions": (None, 2)}


async def test_the_second_factor(alice: Actor) -> None:
    authenticator = await enrol(alice)
    (await log_in(alice)).refused("second_factor_required")
    (await log_in(alice, "000000")).refused("invalid_code")
    (await log_in(alice, authenticator.backup_codes[0])).ok()
    await post(alice, "/settings/security/backup-codes", 200, code=authenticator.backup_codes[1])
    await authenticator.next_code(alice)
    await post(alice, "/settings/security/off", 303, code=authenticator.code())
    await grow_old(alice)
    await post(alice, "/stepup", 401, to="/", stepup_password="a wrong password")  # noqa: S106
    assert await actions_listed(alice) == [
        "second_factor.on",
        "second_factor.refused",
        "session.begun",
        "second_factor.codes_renewed",
        "second_factor.off",
        "proof.refused",
    ]
    kept = await words(alice)
    for secret in (*authenticator.backup_codes, authenticator.secret, "000000", PASSWORD, "a wrong password"):
        assert secret not in kept


async def test_keys_and_settings(alice: Actor) -> None:
    key = await alice.key(scopes=["payments:read"])
    key_id = (await alice.dashboard("GET", "/api-keys")).ok().body["api_keys"][0]["api_key_id"]
    for _ in range(2):
        (await alice.dashboard("DELETE", f"/api-keys/{key_id}")).ok()
    current = (await alice.get("/settings")).ok().body
    new = {name: value for name, value in current.items() if name in SAVED} | {
        "success_url": "https://shop.example/thanks?token=s3cr3t",
        "branding": {"display_name": "Nina's"},
        "link_expiry_minutes": 60,
    }
    (await alice.call("PUT", "/settings", new)).ok()
    (await alice.call("PUT", "/settings", new)).refused("settings_changed", 409)
    business = {"business_name": "Alice's Tea", "time_zone": "Europe/Berlin", "seen_zone": "UTC"}
    for _ in range(2):
        await post(alice, "/settings/business", 303, seen_name="Alice's Coffee", **business)
    project = (await alice.dashboard("POST", "/projects", {"name": "Shop", "mode": "live"})).ok(201).body["id"]
    (await alice.dashboard("PUT", f"/projects/{project}", {"name": "Shoppe", "website_url": "https://s.example"})).ok()
    (await alice.dashboard("PUT", f"/projects/{project}", {"name": "Lost", "mode": "test"})).field_errors()
    assert await actions_listed(alice) == [
        "api_key.made",
        "api_key.revoked",
        "api_key.made",
        "settings.payments_saved",
        "settings.business_saved",
        "project.opened",
        "project.changed",
    ]
    revoked, saved = await newest(alice, "api_key.revoked"), await newest(alice, "settings.payments_saved")
    assert (revoked["subject"], revoked["name"], revoked["mode"]) == (key_id, f"test ['payments:read'] …{key[-4:]}", "test")
    assert (saved["author_kind"], saved["author_name"][:9]) == ("api_key", "test None")
    assert changed(saved) == {
        "success_url": (None, "https://shop.example/thanks…"),
        "branding.display_name": (None, "Nina's"),
        "link_expiry_minutes": (1440, 60),
    }
    assert changed(await newest(alice, "settings.business_saved")) == {
        "business_name": ("Alice's Coffee", "Alice's Tea"),
        "time_zone": ("UTC", "Europe/Berlin"),
    }
    moved = await newest(alice, "project.changed")
    assert (moved["mode"], moved["subject"], moved["author_kind"]) == ("live", project, "person")
    assert changed(moved) == {"name": ("Shop", "Shoppe"), "website_url": (None, "https://s.example")}
    kept = await words(alice)
    for secret in (key, "s3cr3t"):
        assert secret not in kept


async def test_applications_and_connections(alice: Actor, bob: Actor) -> None:
    app = await application(bob)
    at = f"/oauth/clients/{app.client_id}"
    settings = {
        "name": "Northwind",
        "client_type": "confidential",
        "description": "",
        "website_url": None,
        "redirect_uris": [app.redirect_uri],
        "scopes": ["account:read", "payments:read"],
    }
    (await bob.dashboard("PUT", at, settings | {"version": 1})).ok()
    (await bob.dashboard("PUT", at, settings | {"version": 1})).refused("application_changed", 409)
    token = (await app.connect(alice, "account:read payments:read", "account:read"))["access_token"]
    (await app.api(token, "GET", "/account")).ok()
    [grant] = (await alice.dashboard("GET", "/oauth/grants")).ok().body["grants"]
    for _ in range(2):
        (await alice.dashboard("DELETE", f"/oauth/grants/{grant['grant_id']}")).ok()
    await app.connect(alice, "account:read")
    started = (await alice.send("GET", app.authorize_path("account:read"))).ok(303)
    (await consent(alice, started.location, [], "deny")).ok(303)
    (await bob.dashboard("DELETE", f"{at}/connections")).ok()
    rotated = (await bob.dashboard("POST", f"{at}/rotate-secret", {"version": 2, "revoke_grants": False})).ok().body
    (await bob.dashboard("POST", f"{at}/status", {"enabled": False, "version": 3})).ok()
    (await bob.dashboard("POST", f"{at}/status", {"enabled": True, "version": 4})).ok()
    (await bob.dashboard("DELETE", at)).ok()
    (await bob.dashboard("DELETE", at)).refused("application_revoked", 409)
    assert await actions_listed(bob) == [
        "application.registered",
        "application.changed",
        "application.connections_ended",
        "application.secret_replaced",
        "application.paused",
        "application.resumed",
        "application.revoked",
    ]
    assert {line["subject"] for line in await lines(bob, "?what=applications")} == {app.client_id}
    reported = changed(await newest(bob, "application.changed"))
    assert reported["name"] == ("Northwind Ledger", "Northwind")
    assert reported["scopes"][1] == ["account:read", "payments:read"]
    assert changed(await newest(bob, "application.connections_ended")) == {"connections": (1, 0)}
    assert await actions_listed(alice) == ["grant.given", "grant.ended", "grant.given"]
    given = (await lines(alice))[-2]
    assert (given["mode"], given["subject"], given["name"]) == ("test", app.client_id, "Northwind")
    assert changed(given) == {"scopes": (None, ["account:read"])}
    kept = await words(bob) + await words(alice)
    for secret in (token, app.client_secret, rotated["client_secret"]):
        assert str(secret) not in kept


async def test_connections_that_others_end(alice: Actor, bob: Actor) -> None:
    app = await application(bob)
    given_back = (await app.connect(alice, "account:read offline_access"))["refresh_token"]
    for _ in range(2):
        (await app.revoke(given_back)).ok()
    token = (await app.connect(alice, "account:read offline_access"))["refresh_token"]
    (await app.refresh(token)).ok()
    for _ in range(2):
        (await app.refresh(token)).ok(400)
    code = await app.code(alice, "account:read")
    (await app.exchange(code)).ok()
    for _ in range(2):
        (await app.exchange(code)).ok(400)
    await app.connect(alice, "account:read")
    [grant, *_] = (await alice.dashboard("GET", "/oauth/grants")).ok().body["grants"]
    for _ in range(2):
        (await bob.dashboard("DELETE", f"/oauth/clients/{app.client_id}/connections/{grant['grant_id']}")).ok()
    ends = [line for line in await lines(alice) if line["deed"] == "grant.ended"][::-1]
    assert [changed(line)["reason"][1] for line in ends] == [
        "revoked by application",
        "refresh token replayed",
        "code replayed",
        "disconnected by owner",
    ]
    assert {(line["author_kind"], line["author"], line["mode"]) for line in ends} == {("application", app.client_id, "test")}
    assert [line["address"] for line in ends] == ["127.0.0.1"] * 3 + [""]
    assert changed(await newest(bob, "application.connection_ended")) == {"connection": (None, grant["grant_id"])}


async def test_webhooks(alice: Actor, service: Service) -> None:
    secrets = [(await alice.dashboard("POST", "/webhook-secret/generate", {"mode": "test"})).ok().body["secret"]]
    for _ in range(2):
        (await alice.dashboard("POST", "/webhook-secret/activate", {"mode": "test"})).ok()
    await post(alice, "/test/developers/webhooks/off")
    await post(alice, "/test/developers/webhooks/off")
    await post(alice, "/test/developers/webhooks/on")
    services = service.create_services()
    services = msgspec.structs.replace(
        services, settings=msgspec.structs.replace(services.settings, deprecated_webhooks=True)
    )
    env = MerchantEnv(MerchantId(UUID(alice.merchant_id)), "live")
    for path in ("/a-secret-path", "/another"):
        new = NewConfiguration(f"https://shop.example{path}", ["payment.succeeded"])
        async with services.db.transaction() as tx:
            _, secret = await webhooks.save(Work(tx, services, clock.now()), env, new)
            secrets.append(secret or "th")
    await services.db.close()
    assert await actions_listed(alice) == [
        "webhooks.secret_prepared",
        "webhooks.secret_activated",
        "webhooks.off",
        "webhooks.on",
        "webhooks.saved",
        "webhooks.secret_replaced",
        "webhooks.saved",
    ]
    saved = await newest(alice, "webhooks.saved")
    assert (saved["mode"], saved["author_kind"], saved["author"], saved["address"]) == ("live", "system", "", "")
    assert changed(saved) == {"webhook_url": ("https://shop.example…", "https://shop.example…")}
    kept = await words(alice)
    for secret in (*secrets[:2], "a-secret-path"):
        assert secret not in kept


async def test_money_by_keys_applications_and_people(alice: Actor, bob: Actor) -> None:
    app = await application(bob)
    token = (await app.connect(alice, "withdrawals:write"))["access_token"]
    await fund(alice)
    paid = await sell(alice)
    (await refund(alice, paid, "2.50", reason="duplicate")).ok(201)
    late = await sell(alice, "late")
    (await alice.post(f"/transactions/{late['id']}/accept")).ok()
    key = str(uuid4())
    made = [(await withdraw(alice, key=key)).ok(201).body["id"] for _ in range(2)]
    body = {"method_id": "sandbox:EUR", "amount": "4.00", "receiver": "Nina's account"}
    (await app.api(token, "POST", "/withdrawals", body, key=key)).ok(201)
    (await withdraw(alice, {"amount": "9000.00"})).refused("insufficient_funds")
    await cancel(alice, await asked(alice))
    (await convert(alice)).ok(201)
    ruled = (await rule(alice)).ok(201).body
    (await alice.call("DELETE", f"/conversion-rules/{ruled['id']}")).ok()
    ordered = (await alice.post("/fulfillments", GEMS, key=str(uuid4()))).ok(201).body
    assert await actions_listed(alice, "?what=money") == [
        "refund.requested",
        "payment.accepted",
        "withdrawal.requested",
        "withdrawal.requested",
        "withdrawal.requested",
        "withdrawal.canceled",
        "conversion.made",
        "rule.made",
        "rule.ended",
        "fulfillment.ordered",
    ]
    refunded = await newest(alice, "refund.requested")
    assert (refunded["subject"], refunded["mode"], refunded["author_kind"]) == (paid["id"], "test", "api_key")
    assert changed(refunded) == {"amount": (None, "2.50 EUR"), "reason": (None, "duplicate")}
    [asked_for] = await lines(alice, "?who=application&what=money")
    assert (asked_for["author"], asked_for["author_name"]) == (app.client_id, "Northwind Ledger")
    assert changed(asked_for) == {"amount": (None, "4.00 EUR"), "method_id": (None, "sandbox:EUR")}
    assert made[0] in {line["subject"] for line in await lines(alice, "?who=api_key")}
    assert (await newest(alice, "fulfillment.ordered"))["subject"] == ordered["id"]
    assert "Nina" not in await words(alice)


async def test_what_operators_do_by_command(alice: Actor, service: Service) -> None:
    for command in ("suspend", "reactivate"):
        assert (await operator(service, "merchants", command, alice.merchant_id)).status == 0
    done = await lines(alice)
    assert [line["deed"] for line in done[:2]] == ["account.reactivated", "account.suspended"]
    assert {(line["author_kind"], line["author"], line["address"]) for line in done[:2]} == {("operator", "", "")}


async def test_what_operators_do(alice: Actor, service: Service) -> None:
    project = await in_review(alice)
    merchant_id, context = (
        MerchantId(UUID(alice.merchant_id)),
        OperatorContext("olga@example.com", clock.now(), "Between us"),
    )
    services = service.create_services()
    euro = CATALOGUE.currencies["EUR"]
    async with services.db.transaction() as tx:
        work = Work(tx, services, context.at, OPERATOR)
        await operators.approve(work, UUID(project), context)
        await operators.suspend(work, merchant_id, context)
        await operators.reactivate(work, merchant_id, context)
        await operators.adjust(work, MerchantEnv(merchant_id, "test"), euro, 1250, context)
    await services.db.close()
    assert await actions_listed(alice) == [
        "project.opened",
        "project.approved",
        "account.suspended",
        "account.reactivated",
        "balance.adjusted",
    ]
    approved = await newest(alice, "project.approved")
    assert (approved["subject"], approved["mode"], approved["author_kind"]) == (project, "live", "operator")
    assert changed(await newest(alice, "balance.adjusted")) == {"amount": (None, "12.50 EUR")}
    assert {(line["author"], line["address"]) for line in await lines(alice, "?who=operator")} == {("", "")}
    kept = await words(alice)
    assert "olga" not in kept
    assert "Between us" not in kept
