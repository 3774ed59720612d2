"""A suspended merchant reads its dashboard and changes nothing, by whatever way. Every operation of the table is tried."""

from uuid import uuid4

import pytest

from tests.cast import Actor, Answer
from tollhouse.accounts.identity.guards import CredentialGuard, PublicGuard
from tollhouse.accounts.identity.operators import OperatorGuard
from tollhouse.http.cookies import SAFE
from tollhouse.http.operations import Operation
from tollhouse.instance.api import OPERATIONS

MERCHANT = "/api/v2/merchant"
WHILE_SUSPENDED = {
    # Ending sessions, and proving who sits there, which the rest asks for.
    f"DELETE {MERCHANT}/sessions",
    f"DELETE {MERCHANT}/sessions/{{session_id}}",
    "POST /settings/sessions/all/end",
    "POST /settings/sessions/others/end",
    "POST /settings/sessions/{session_id}/end",
    f"POST {MERCHANT}/session/confirm",
    "POST /stepup",
    f"POST {MERCHANT}/session/confirm/options",
    # Revoking keys and grants.
    f"DELETE {MERCHANT}/api-keys/{{api_key_id}}",
    f"DELETE {MERCHANT}/oauth/clients/{{client_id}}",
    f"DELETE {MERCHANT}/oauth/clients/{{client_id}}/connections",
    f"DELETE {MERCHANT}/oauth/clients/{{client_id}}/connections/{{grant_id}}",
    f"DELETE {MERCHANT}/oauth/grants/{{grant_id}}",
    f"POST {MERCHANT}/session/merchant",
    f"POST {MERCHANT}/stop-everything",
    "POST /{mode}/developers/stop",
    # What is read, and a report to the operators.
    f"POST {MERCHANT}/notifications/read-all",
    f"POST {MERCHANT}/notifications/{{notification_id}}/read",
    "POST /{mode}/notifications/read",
    "POST /{mode}/notifications/{notification_id}/read",
    "POST /settings/reported-apps/{client_id}",
    "POST /developers/apps/{client_id}/connections/disconnect",
    "POST /developers/apps/{client_id}/connections/{grant_id}/disconnect",
    "POST /developers/apps/{client_id}/revoke",
    "POST /settings/connected-apps/{grant_id}/disconnect",
    "POST /{mode}/developers/keys/{api_key_id}/revoke",
    # Ending the access of people.
    f"DELETE {MERCHANT}/members/{{user_id}}",
    f"DELETE {MERCHANT}/invitations/{{invitation_id}}",
    "POST /settings/members/{user_id}/remove",
    "POST /settings/merchants",
    "POST /settings/invitations/{invitation_id}/cancel",
    # Changing the password or second factors.
    f"DELETE {MERCHANT}/passkeys/{{passkey_id}}",
    f"POST {MERCHANT}/passkeys",
    f"POST {MERCHANT}/passkeys/options",
    "POST /settings/password",
    "POST /settings/security/backup-codes",
    "POST /settings/security/confirm",
    "POST /settings/security/off",
    "POST /settings/security/passkeys",
    "POST /settings/security/passkeys/{passkey_id}/remove",
    "POST /settings/security/passkeys/{passkey_id}/rename",
    "POST /settings/security/setup",
}
"""What a suspended merchant's people may do all the same."""
WITHOUT_SESSION = {
    f"POST {MERCHANT}/invitations/accept",
    f"POST {MERCHANT}/login",
    "POST /invitation/{secret}",
    f"POST {MERCHANT}/login/passkey",
    f"POST {MERCHANT}/login/passkey/options",
    f"POST {MERCHANT}/logout",
    f"POST {MERCHANT}/signup",
    "POST /address/confirm/{secret}",
    "POST /address/undo/{secret}",
    "POST /forgot",
    "POST /language",
    "POST /oauth/consent/{request_id}",
    "POST /oauth/consent/{request_id}/merchant",
    "POST /oauth/consent/{request_id}/switch",
    "POST /pay/{token}/method",
    "POST /pay/{token}/receipt/email",
    "POST /pay/{token}/simulate",
    "POST /rails/{rail}/webhook",
    "POST /reset/{secret}",
    "POST /shortcuts",
    "POST /signin",
    "POST /signin/2fa",
    "POST /signout",
    "POST /signup",
    "POST /theme",
    "POST /unsubscribe/{token}",
    "POST /verify/{secret}",
}
"""What asks for no session. Of these, consent and the checkout look at the suspension themselves."""


def changing() -> list[Operation]:
    """Every operation that may change something for people of a merchant."""
    return [
        operation
        for operation in OPERATIONS
        if operation.method not in SAFE
        and not isinstance(operation.guard, (CredentialGuard, OperatorGuard))
        and operation.guard.label != "client authentication"
        and not operation.path.startswith("/operator/")
    ]


def named(operation: Operation) -> str:
    """`POST /theme`."""
    return f"{operation.method} {operation.full_path}"


SIGNING_OUT = {f"DELETE {MERCHANT}/sessions", "POST /settings/sessions/all/end"}
"""What ends the session itself."""


async def attempt(actor: Actor, operation: Operation) -> Answer:
    """The operation with an empty body, on things that are not there."""
    path = operation.full_path.replace("{mode}", "test")
    for name in [part[1:-1] for part in path.split("/") if part.startswith("{")]:
        path = path.replace(f"{{{name}}}", str(uuid4()))
    if operation.full_path.startswith(MERCHANT):
        return await actor.send(operation.method, path, json={})
    return await actor.form(path, {"amount": "1.00"})


def test_what_requires_no_session_is_known() -> None:
    assert {named(operation) for operation in changing() if isinstance(operation.guard, PublicGuard)} == WITHOUT_SESSION


@pytest.mark.long
async def test_every_operation_of_a_session_is_refused_but_the_known_ones(alice: Actor) -> None:
    with_session = [operation for operation in changing() if not isinstance(operation.guard, PublicGuard)]
    assert len(with_session) > 50
    assert {named(operation) for operation in with_session} >= WHILE_SUSPENDED
    await alice.sql("UPDATE merchants SET suspended_at = now() WHERE id = $1::uuid", alice.merchant_id)
    for operation in with_session:
        answer = await attempt(alice, operation)
        refused = answer.status == 403 and "suspended" in answer.text
        assert refused is (named(operation) not in WHILE_SUSPENDED), (
            f"{named(operation)}: {answer.status} {answer.text[:99]}"
        )
        if named(operation) in SIGNING_OUT:
            await alice.sign_in()


async def test_what_takes_away_works_while_suspended(alice: Actor) -> None:
    key = await alice.key()
    [listed] = (await alice.dashboard("GET", "/api-keys")).ok().body["api_keys"]
    await alice.sql("UPDATE merchants SET suspended_at = now() WHERE id = $1::uuid", alice.merchant_id)
    (await alice.dashboard("POST", "/api-keys", {"name": "x", "mode": "test"})).refused("account_suspended", 403)
    (await alice.get("/account")).refused("account_suspended", 403)
    (await alice.dashboard("DELETE", f"/api-keys/{listed['api_key_id']}")).ok()
    gone = await alice.anonymously("GET", "/api/v2/integration/account", headers={"X-API-Key": key})
    gone.refused("invalid_api_key", 401)
    (await alice.form("/signout", {})).ok(303)
