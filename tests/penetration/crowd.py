"""The crowd of intruders: each with a credential that is real, and for something else."""

from collections.abc import Callable
from contextlib import AsyncExitStack

from tests.accounts.merchants.authenticator import grow_old
from tests.cast import PASSWORD, application, every_scope, sign_up
from tests.pages.console.operator_pages import invite, signed_in_operator, visitor
from tests.penetration.intruders import (
    AGE_OPERATOR,
    EXPIRE,
    SUSPEND,
    Intruder,
    bearer,
    key,
    names_object,
    of_anybody,
    of_api,
    of_operators,
    of_people,
)
from tests.penetration.scene import BALANCES, Scene
from tests.running import Service
from tollhouse.accounts.identity.guards import ApplicationGuard, CredentialGuard, TestCredentialGuard
from tollhouse.http.operations import Operation

UNKNOWN = frozenset({401})
FORBIDDEN = frozenset({403})
ABSENT = frozenset({404})
AWAY = frozenset({303, 401, 403})
"""Of pages, which lead to signing in."""
READ_ONLY = ["account:read", "balances:read"]
REDEFINED = frozenset({403, 404})


async def of_keys(scene: Scene) -> list[Intruder]:
    """Keys: of nobody, without the scope, with every other scope, revoked, of the other mode, of no application."""
    alice = scene.merchant
    scopes = [one for one in await every_scope(alice) if one != "offline_access"]
    found = [
        Intruder("no credential", {}, of_api, UNKNOWN),
        Intruder("no key at all", key("th_test_" + "a" * 49), of_api, UNKNOWN),
        Intruder("the merchant's session", {}, of_api, UNKNOWN, alice),
        Intruder("a key without the scope", key(await alice.key("test", READ_ONLY)), of_api, FORBIDDEN),
        Intruder("a key of the other mode", key(await alice.key("live")), names_object_of_api, REDEFINED),
        Intruder("a live key in the simulator", key(await alice.key("live")), of_simulator, FORBIDDEN),
        Intruder("a key where an application is needed", key(await alice.key()), of_application, FORBIDDEN),
    ]
    labels = {"payments", "balance-payments", "fulfillments", "withdrawals", "conversions"}
    for label in sorted(labels):
        others = [scope for scope in scopes if scope != f"{label}:write"]
        found.append(
            Intruder(
                f"a key with all but {label}:write", key(await alice.key("test", others)), needs(f"{label}:write"), FORBIDDEN
            )
        )
    made = (await alice.dashboard("POST", "/api-keys", {"name": "gone", "mode": "test"})).ok(201).body
    (await alice.dashboard("DELETE", f"/api-keys/{made['api_key_id']}")).ok()
    return [*found, Intruder("a revoked key", key(made["api_key"]), of_api, UNKNOWN)]


async def of_tokens(scene: Scene) -> list[Intruder]:
    """Tokens: without the scope, of another application, of a public client, expired, disconnected."""
    alice, owner = scene.merchant, scene.app.owner
    narrow = (await scene.app.connect(alice, "account:read"))["access_token"]
    other = await application(owner)
    stranger = (await other.connect(alice, BALANCES))["access_token"]
    public = (await scene.public.connect(alice, BALANCES))["access_token"]
    late, ended = await application(owner), await application(owner)
    expired = (await late.connect(alice, BALANCES))["access_token"]
    await alice.sql(EXPIRE, late.client_id)
    gone = (await ended.connect(alice, BALANCES))["access_token"]
    (await owner.dashboard("DELETE", f"/oauth/clients/{ended.client_id}/connections")).ok()
    refresh = await scene.app.connect(alice, f"{BALANCES} offline_access")
    return [
        Intruder("a token without the scope", bearer(narrow), of_api, FORBIDDEN),
        Intruder("a token of another application", bearer(stranger), of_application, ABSENT),
        Intruder("a token of a public client", bearer(public), of_confidential, FORBIDDEN),
        Intruder("an expired token", bearer(expired), of_api, UNKNOWN),
        Intruder("a token that was disconnected", bearer(gone), of_api, UNKNOWN),
        Intruder("a refresh token", bearer(refresh["refresh_token"]), of_api, UNKNOWN),
    ]


async def of_others(scene: Scene, service: Service, stack: AsyncExitStack) -> list[Intruder]:
    """Another merchant, a suspended one, one that signed out, and one that authenticated long ago."""
    carol, dora, erin, fred = [
        await stack.enter_async_context(sign_up(service, name, f"{name}'s shop"))
        for name in ("carol", "dora", "erin", "fred")
    ]
    dora_key = await dora.key()
    app_of_dora = await application(dora)
    token = (await app_of_dora.connect(scene.merchant, BALANCES))["access_token"]
    await dora.sql(SUSPEND, dora.merchant_id)
    cookies = "; ".join(f"{cookie.key}={cookie.value}" for cookie in erin.http.cookie_jar)
    (await erin.dashboard("POST", "/logout")).ok(204)
    await grow_old(fred)
    return [
        Intruder("another merchant's key", key(await carol.key()), names_object_of_api, REDEFINED),
        Intruder("another merchant's session", {}, names_object_of_people, ABSENT, carol),
        Intruder("a suspended merchant's key", key(dora_key), of_api, FORBIDDEN),
        Intruder("a suspended merchant's session", {}, of_people, FORBIDDEN, dora),
        Intruder("a token of a suspended owner's application", bearer(token), of_api, FORBIDDEN),
        Intruder("a session that was signed out", {"Cookie": cookies}, of_people, AWAY),
        Intruder("a session of long ago in live mode", {}, needs_recent, frozenset({303, 403}), fred, "live"),
    ]


async def of_people_and_operators(scene: Scene, service: Service, stack: AsyncExitStack) -> list[Intruder]:
    """No session, a key, a form of another site; operators as merchants, and merchants as operators."""
    alice = scene.merchant
    olga, oskar = [await stack.enter_async_context(signed_in_operator(service, name)) for name in ("olga", "oskar")]
    await alice.sql(AGE_OPERATOR, oskar.email)
    otto = await stack.enter_async_context(visitor(service, "otto@house.example"))
    (await otto.form(await invite(service, otto.email), {"password": PASSWORD})).ok(303)
    other_site = {"Sec-Fetch-Site": "cross-site"}
    return [
        Intruder("nobody", {}, of_people, AWAY),
        Intruder("a key instead of a session", key(await alice.key()), of_people, AWAY),
        Intruder("a form of another site", other_site, of_people, FORBIDDEN, alice),
        Intruder("an operator as a merchant", {}, of_people, AWAY, olga),
        Intruder("nobody at the operators' pages", {}, of_operators, AWAY),
        Intruder("a merchant as an operator", {}, of_operators, AWAY, alice),
        Intruder("a key at the operators' pages", key(await alice.key()), of_operators, AWAY),
        Intruder("an operator without a second factor", {}, of_operators, FORBIDDEN, otto),
        Intruder("an operator who proved it long ago", {}, of_operators, frozenset({303, 403}), oskar),
        Intruder("a form of another site for operators", other_site, of_operators, FORBIDDEN, olga),
        Intruder("a form of another site at the checkout", other_site, of_anybody, FORBIDDEN, alice),
    ]


def names_object_of_api(operation: Operation) -> bool:
    """Of keys and tokens, on an object."""
    return of_api(operation) and names_object(operation)


def names_object_of_people(operation: Operation) -> bool:
    """Of sessions, on an object."""
    return of_people(operation) and names_object(operation)


def of_simulator(operation: Operation) -> bool:
    """Of test mode alone."""
    return isinstance(operation.guard, TestCredentialGuard)


def of_application(operation: Operation) -> bool:
    """Of tokens of the application that made the object."""
    return isinstance(operation.guard, ApplicationGuard)


def of_confidential(operation: Operation) -> bool:
    """Of tokens of confidential clients."""
    return isinstance(operation.guard, ApplicationGuard) and operation.guard.confidential


def needs(scope: str) -> Callable[[Operation], bool]:
    """Of credentials with this scope."""
    return lambda operation: isinstance(operation.guard, CredentialGuard) and operation.guard.label == scope


def needs_recent(operation: Operation) -> bool:
    """Of sessions that confirmed the password lately, in live mode."""
    return of_people(operation) and operation.recent_authentication != "no" and "{mode}" in operation.full_path
