"""Bound tokens at the resources (RFC 9449 section 7): by which scheme, with which proofs, and for what they are refused."""

import asyncio
import json
import secrets
from typing import Any

import pytest

from tests.cast import INTEGRATION, Actor, Answer, Application, application
from tests.oauth.signatures import Signer, at, hostile
from tests.oauth.test_dpop import bound, use
from tests.payments.bank import sell
from tollhouse.accounts.identity import dpop, jose
from tollhouse.kernel import base64url

ACCOUNT = f"{INTEGRATION}/account"
CHALLENGE = 'DPoP realm="tollhouse", algs="ES256 PS256 Ed25519 EdDSA", error="{}", resource_metadata="{}"'
SCOPE = "account:read offline_access"
OTHERS, ROUNDS = 10, 5


@pytest.fixture
async def app(bob: Actor) -> Application:
    """Bob's application."""
    return await application(bob)


@pytest.fixture
def signer() -> Signer:
    """The key of the application."""
    return Signer()


@pytest.fixture
async def token(app: Application, alice: Actor, signer: Signer) -> str:
    """An access token that is bound to the key."""
    return (await bound(app, alice, signer))["access_token"]


async def get(app: Application, token: str, proof: str | None, scheme: str = "DPoP", path: str = ACCOUNT) -> Answer:
    """Read with this token and this proof."""
    headers = {"Authorization": f"{scheme} {token}"} | ({} if proof is None else {"DPoP": proof})
    return await app.owner.anonymously("GET", path, headers=headers)


def challenge(app: Application, code: str) -> str:
    """The challenge of a refusal."""
    url = app.owner.service.url
    return CHALLENGE.format(code, f"{url}/.well-known/oauth-protected-resource{INTEGRATION}")


def url_of(app: Application) -> str:
    """The URL of the account."""
    return app.owner.service.url + ACCOUNT


async def test_a_bound_token_needs_its_scheme_and_its_key(app: Application, signer: Signer, token: str) -> None:
    for scheme, key in (("Bearer", None), ("Bearer", signer), ("DPoP", Signer()), ("dpop", Signer())):
        proof = None if key is None else key.proof("GET", url_of(app), token)
        refused = (await get(app, token, proof, scheme)).refused("invalid_token", 401)
        assert refused.headers["WWW-Authenticate"] == challenge(app, "invalid_token")
    (await get(app, token, None)).refused("invalid_dpop_proof", 401)
    for scheme in ("DPoP", "dpop", "DPOP"):
        (await get(app, token, signer.proof("GET", url_of(app), token), scheme)).ok()


async def test_a_bearer_token_needs_its_scheme(app: Application, alice: Actor, signer: Signer) -> None:
    token = (await app.connect(alice, SCOPE))["access_token"]
    refused = (await get(app, token, signer.proof("GET", url_of(app), token))).refused("invalid_token", 401)
    assert refused.headers["WWW-Authenticate"] == challenge(app, "invalid_token")
    (await get(app, token, signer.proof("GET", url_of(app), token), "Bearer")).ok()
    refused = (await get(app, "that_unknown", None)).refused("invalid_token", 401)
    assert refused.headers["WWW-Authenticate"] == challenge(app, "invalid_token")


async def test_proofs_of_other_requests_are_refused(app: Application, signer: Signer, token: str) -> None:
    url = url_of(app)
    wrong: dict[str, str] = {
        "method": signer.proof("POST", url, token),
        "method in lower case": signer.proof("get", url, token),
        "path": signer.proof("GET", url + "s", token),
        "path with a slash": signer.proof("GET", url + "/", token),
        "host": signer.proof("GET", "https://elsewhere.example" + ACCOUNT, token),
        "scheme": signer.proof("GET", url.replace("http://", "https://"), token),
        "user": signer.proof("GET", url.replace("://", "://user@"), token),
        "no URL": signer.proof("GET", ACCOUNT, token),
        "no token": signer.proof("GET", url),
        "another token": signer.proof("GET", url, token + "x"),
        "type": signer.sign(claims_of(app, token), typ="JWT", kid=None, jwk=signer.public),
        "too old": signer.proof("GET", url, token, iat=at(-120)),
        "too new": signer.proof("GET", url, token, iat=at(120)),
        "jti too long": signer.proof("GET", url, token, jti="x" * 256),
        "no jti": signer.proof("GET", url, token, jti=""),
    }
    wrong |= {
        f"without {name}": signer.proof("GET", url, token, **{name: ...}) for name in ("jti", "htm", "htu", "iat", "ath")
    }
    wrong |= {f"{name} is a list": signer.proof("GET", url, token, **{name: ["x"]}) for name in ("jti", "htm", "htu", "iat")}
    for name, proof in wrong.items():
        refused = (await get(app, token, proof)).refused("invalid_dpop_proof", 401)
        assert refused.headers["WWW-Authenticate"] == challenge(app, "invalid_dpop_proof"), name
        assert refused.headers["Access-Control-Expose-Headers"].endswith("DPoP-Nonce")


def claims_of(app: Application, token: str) -> dict[str, Any]:
    """The claims of a valid proof."""
    made = Signer().proof("GET", url_of(app), token)
    body = made.split(".")[1]
    return json.loads(jose.decode(body)) | {"jti": secrets.token_hex(8)}


async def test_hostile_proofs(app: Application, signer: Signer, token: str) -> None:
    private = signer.key.as_dict(private=True)
    claims = claims_of(app, token)
    wrong = [
        *hostile(signer, claims).values(),
        signer.sign(claims, typ="dpop+jwt", kid=None, jwk=private),
        signer.sign(claims, typ="dpop+jwt", kid=None, jwk={"kty": "oct", "k": base64url.encode(b"x" * 32)}),
        signer.sign(claims, typ="dpop+jwt", kid=None, jwk={**signer.public, "crv": "P-384"}),
        signer.sign(claims, typ="dpop+jwt", kid=None, jwk=[signer.public]),
        signer.sign(claims, typ="dpop+jwt", kid=None, jwk=Signer("PS256").public),
        signer.sign(claims, typ="dpop+jwt", kid=None, jwk=Signer().public),
        signer.sign(claims, typ="dpop+jwt", kid=None),
    ]
    for proof in wrong:
        (await get(app, token, proof or "x")).refused("invalid_dpop_proof", 401)


async def test_two_proofs_are_none(app: Application, signer: Signer, token: str) -> None:
    proofs = [signer.proof("GET", url_of(app), token) for _ in range(2)]
    (await get(app, token, ", ".join(proofs))).refused("invalid_dpop_proof", 401)


async def test_equal_urls_are_equal(app: Application, signer: Signer, token: str) -> None:
    base = app.owner.service.url
    for url in (
        f"{base}{ACCOUNT}?page=2",
        f"{base}{ACCOUNT}#top",
        base.replace("http", "HTTP").replace("localhost", "LOCALHOST") + ACCOUNT,
        base + ACCOUNT.replace("account", "%61ccount"),
    ):
        (await get(app, token, signer.proof("GET", url, token), path=f"{ACCOUNT}?limit=1")).ok()


def test_the_normal_form_of_urls() -> None:
    for url, same in (
        ("https://Pay.Example:443/a?b#c", "https://pay.example/a"),
        ("HTTP://pay.example:80", "http://pay.example/"),
        ("https://pay.example:8443/%7Ea", "https://pay.example:8443/~a"),
        ("https://[::1]:443/", "https://[::1]/"),
    ):
        assert dpop.normal(url) == dpop.normal(same) == same
    for url in ("", "pay.example/a", "//pay.example/a", "https:///a", "https://u@pay.example/", "urn:a:b"):
        assert dpop.normal(url) is None
    assert dpop.normal("https://pay.example:80/") != dpop.normal("https://pay.example/")


async def test_clocks_may_differ_by_a_minute(app: Application, signer: Signer, token: str) -> None:
    for seconds in (-50, 50):
        (await get(app, token, signer.proof("GET", url_of(app), token, iat=at(seconds)))).ok()


async def test_a_proof_is_used_once_also_where_it_is_refused(
    app: Application, alice: Actor, signer: Signer, token: str
) -> None:
    made = signer.proof("GET", url_of(app), token)
    (await get(app, token, made)).ok()
    (await get(app, token, made)).refused("invalid_dpop_proof", 401)
    same = signer.proof("GET", url_of(app), token, jti="one")
    (await get(app, token, same)).ok()
    (await get(app, token, signer.proof("GET", url_of(app), token, jti="one"))).refused("invalid_dpop_proof", 401)
    other = Signer()
    their = (await bound(app, alice, other))["access_token"]
    (await get(app, their, other.proof("GET", url_of(app), their, jti="one"))).ok()


async def test_writes_and_missing_scopes(app: Application, signer: Signer, token: str) -> None:
    url = f"{app.owner.service.url}{INTEGRATION}/payment-links"
    headers = {"Authorization": f"DPoP {token}", "DPoP": signer.proof("POST", url, token), "Idempotency-Key": "k" * 30}
    refused = await app.owner.anonymously("POST", f"{INTEGRATION}/payment-links", {}, headers)
    asked = refused.refused("missing_scope", 403).headers["WWW-Authenticate"]
    assert asked == 'DPoP error="insufficient_scope", scope="payments:write"'


async def test_a_refund_to_another_receiver_needs_the_scope_by_the_scheme_of_the_caller(alice: Actor, bob: Actor) -> None:
    paid, app, signer = await sell(alice), await application(bob), Signer()
    token = (await bound(app, alice, signer, "payments:read payments:write"))["access_token"]
    path = f"{INTEGRATION}/transactions/{paid['id']}/refunds"
    made = signer.proof("POST", app.owner.service.url + path, token)
    headers = {"Authorization": f"DPoP {token}", "DPoP": made, "Idempotency-Key": "k" * 30}
    refused = await app.owner.anonymously("POST", path, {"receiver": "Mallory"}, headers)
    asked = refused.refused("missing_scope", 403).headers["WWW-Authenticate"]
    assert asked == 'DPoP error="insufficient_scope", scope="payments:write withdrawals:write"'


@pytest.mark.long
async def test_a_stream_checks_its_proof_once(alice: Actor, bob: Actor) -> None:
    app, signer = await application(bob), Signer()
    token = (await bound(app, alice, signer, "webhooks:read"))["access_token"]
    path = f"{INTEGRATION}/events?wait=1"
    made = signer.proof("GET", app.owner.service.url + path, token)
    (await get(app, token, made, path=path)).ok()
    (await get(app, token, made, path=path)).refused("invalid_dpop_proof", 401)


async def test_one_of_many_requests_with_one_proof_wins(app: Application, signer: Signer, token: str) -> None:
    for _ in range(ROUNDS):
        made = signer.proof("GET", url_of(app), token)
        statuses = [answer.status for answer in await asyncio.gather(*(get(app, token, made) for _ in range(OTHERS)))]
        assert sorted(statuses) == [200] + [401] * (OTHERS - 1)
    (await use(app, signer, token)).ok()
