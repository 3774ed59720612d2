"""Every write of a session asks for the password again in live mode, or stands here with the reason why it does not."""

import pytest

from tests.accounts.merchants.authenticator import grow_old
from tests.cast import Actor
from tests.forms import seen
from tests.transfers.balance_payments.till import SCOPES, Till, open_till
from tests.transfers.fulfillments.depot import Depot
from tollhouse.accounts.identity.guards import SessionGuard
from tollhouse.http.cookies import SAFE
from tollhouse.http.services import Services
from tollhouse.instance.api import OPERATIONS

STOPS = "It only stops something: money stays where it is, or goes back to where it came from."
REQUESTS_MONEY = "It asks customers for money, which nobody can pay to anybody but this merchant."
NO_MONEY = "It moves no money and decides nothing about where money goes."
OWN_PROOF = "It asks for the password itself."
REVIEWED = {
    "POST /api/v2/merchant/notifications/read-all": NO_MONEY,
    "POST /api/v2/merchant/notifications/{notification_id}/read": NO_MONEY,
    "PUT /api/v2/merchant/notification-preferences": NO_MONEY,
    "POST /{mode}/notifications/read": NO_MONEY,
    "POST /{mode}/notifications/{notification_id}/read": NO_MONEY,
    "DELETE /api/v2/merchant/api-keys/{api_key_id}": STOPS,
    "DELETE /api/v2/merchant/customers/{customer_id}/notes/{note_id}": NO_MONEY,
    "DELETE /api/v2/merchant/invitations/{invitation_id}": STOPS,
    "DELETE /api/v2/merchant/oauth/clients/{client_id}": STOPS,
    "DELETE /api/v2/merchant/oauth/clients/{client_id}/connections": STOPS,
    "DELETE /api/v2/merchant/oauth/clients/{client_id}/connections/{grant_id}": STOPS,
    "DELETE /api/v2/merchant/oauth/grants/{grant_id}": STOPS,
    "DELETE /api/v2/merchant/session/email": STOPS,
    "POST /api/v2/merchant/customers/{customer_id}/notes": NO_MONEY,
    "DELETE /api/v2/merchant/sessions": STOPS,
    "DELETE /api/v2/merchant/sessions/{session_id}": STOPS,
    "POST /api/v2/merchant/oauth/clients/{client_id}/status": NO_MONEY,
    "PATCH /api/v2/merchant/passkeys/{passkey_id}": "It changes what the owner calls it.",
    "POST /api/v2/merchant/session/confirm": OWN_PROOF,
    "POST /api/v2/merchant/session/confirm/options": "It is the first step of the proof.",
    "POST /api/v2/merchant/session/merchant": "It moves nothing: each action asks again.",
    "POST /api/v2/merchant/stop-everything": STOPS,
    "POST /device": "It leads to the consent page, which asks for the password in live mode.",
    "POST /developers/apps/{client_id}/connections/disconnect": STOPS,
    "POST /developers/apps/{client_id}/connections/{grant_id}/disconnect": STOPS,
    "POST /developers/apps/{client_id}/pause": STOPS,
    "POST /developers/apps/{client_id}/resume": NO_MONEY,
    "POST /settings/business": NO_MONEY,
    "POST /settings/connected-apps/{grant_id}/disconnect": STOPS,
    "POST /settings/connected-apps/{grant_id}/permissions": STOPS,
    "POST /settings/invitations/{invitation_id}/cancel": STOPS,
    "POST /settings/merchants": "It moves nothing: each action asks again.",
    "POST /settings/notifications": NO_MONEY,
    "POST /settings/password": OWN_PROOF,
    "POST /docs/quickstart": "The key that it makes is of the test environment.",
    "POST /docs/api/{name}": "The key that it makes is of the test environment.",
    "POST /settings/security/address": OWN_PROOF,
    "POST /settings/security/address/withdraw": STOPS,
    "POST /settings/reported-apps/{client_id}": NO_MONEY,
    "POST /settings/security/passkeys/{passkey_id}/rename": "It changes what the owner calls it.",
    "POST /settings/sessions/all/end": STOPS,
    "POST /settings/sessions/others/end": STOPS,
    "POST /settings/sessions/{session_id}/end": STOPS,
    "POST /stepup": OWN_PROOF,
    "POST /{mode}/conversions/rules/{rule_id}/delete": STOPS,
    "POST /{mode}/conversions/rules/{rule_id}/pause": STOPS,
    "POST /{mode}/customers/{customer_id}/notes": NO_MONEY,
    "POST /{mode}/customers/{customer_id}/notes/{note_id}/delete": NO_MONEY,
    "POST /{mode}/developers/clock": "The test environment alone has this clock.",
    "POST /{mode}/developers/events/redeliver": NO_MONEY,
    "POST /{mode}/developers/events/{event_id}/redeliver": NO_MONEY,
    "POST /{mode}/developers/events/{event_id}/replay": "Only events of the test environment are sent.",
    "POST /{mode}/developers/stop": STOPS,
    "POST /{mode}/developers/webhooks/off": NO_MONEY,
    "POST /{mode}/developers/webhooks/on": NO_MONEY,
    "POST /{mode}/developers/webhooks/test": NO_MONEY,
    "POST /{mode}/disputes/{dispute_id}/evidence": "It saves a draft. Submitting and accepting ask for the password.",
    "POST /{mode}/fulfillments/{fulfillment_id}/cancel": STOPS,
    "POST /{mode}/payment-links/new": REQUESTS_MONEY,
    "POST /{mode}/payment-links/{link_id}/cancel": STOPS,
    "POST /{mode}/payment-links/{link_id}/expiry": REQUESTS_MONEY,
    "POST /{mode}/payments/{transaction_id}/receipt/email": NO_MONEY,
    "POST /{mode}/sample-data": "It exists in test mode only.",
    "POST /{mode}/saved-filters": NO_MONEY,
    "POST /{mode}/saved-filters/{filter_id}/delete": NO_MONEY,
    "POST /{mode}/saved-filters/{filter_id}/rename": NO_MONEY,
    "POST /{mode}/settings/payments/logo": NO_MONEY,
    "POST /{mode}/settings/payments/logo/remove": NO_MONEY,
    "POST /{mode}/withdrawals/schedules/{schedule_id}/end": STOPS,
    "POST /{mode}/withdrawals/schedules/{schedule_id}/pause": STOPS,
    "POST /{mode}/withdrawals/{withdrawal_id}/cancel": STOPS,
}
"""Each was looked at. A new operation is guarded, or comes here with a reason that holds for money."""


def test_every_write_of_a_session_is_guarded_or_reviewed() -> None:
    writes = [
        operation for operation in OPERATIONS if isinstance(operation.guard, SessionGuard) and operation.method not in SAFE
    ]
    unguarded = {f"{write.method} {write.full_path}" for write in writes if write.recent_authentication == "no"}
    assert unguarded == REVIEWED.keys()
    assert len(writes) > len(REVIEWED)


async def test_json_about_a_live_project_wants_recent_authentication(alice: Actor) -> None:
    facts = {"name": "Coffee", "website_url": "https://shop.example"}
    live = (await alice.dashboard("POST", "/projects", facts | {"mode": "live"})).ok(201).body
    test = (await alice.dashboard("POST", "/projects", facts | {"mode": "test"})).ok(201).body
    await grow_old(alice)
    (await alice.dashboard("POST", "/projects", facts | {"mode": "live"})).refused("recent_authentication_required", 403)
    changed = facts | {"name": "Tea"}
    (await alice.dashboard("PUT", f"/projects/{live['id']}", changed)).refused("recent_authentication_required", 403)
    (await alice.dashboard("PUT", f"/projects/{test['id']}", changed)).ok()
    assert "Tea" not in await seen(alice, "/live/projects")


@pytest.mark.parametrize("action", ["capture", "release", "refund"])
async def test_json_about_live_balance_payments_wants_recent_authentication(
    alice: Actor, bob: Actor, services: Services, action: str
) -> None:
    await Depot(alice, services).fund("live")
    till = await open_till(alice, bob)
    token = (await till.app.connect(alice, SCOPES, mode="live"))["access_token"]
    live = Till(till.app, till.payer, token)
    made = (await live.pay("1.00")).ok(201).body if action == "refund" else await live.reserve("1.00")
    await grow_old(bob)
    (await live.as_owner(made, action)).refused("recent_authentication_required", 403)
    in_test = (await till.pay("1.00")).ok(201).body if action == "refund" else await till.reserve("1.00")
    (await till.as_owner(in_test, action)).ok()
