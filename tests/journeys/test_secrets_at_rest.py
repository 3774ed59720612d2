"""A dump of the database opens no door: no token, code, secret, key, password or session id stands in it in clear."""

import base64
import subprocess

import pytest

from tests.accounts.merchants.authenticator import enrol
from tests.cast import PASSWORD, Actor, application
from tests.journeys.test_get_paid import COFFEE, activate_secret
from tests.running import Service
from tollhouse.instance.database import embedded

pytestmark = pytest.mark.long


async def test_a_dump_holds_no_secret(server: embedded.Server, service: Service, alice: Actor, bob: Actor) -> None:
    app = await application(bob)
    code = await app.code(alice, "account:read offline_access")
    spent = await app.code(alice, "account:read offline_access")
    tokens = (await app.exchange(spent)).ok().body
    refreshed = (await app.refresh(tokens["refresh_token"])).ok().body
    authenticator = await enrol(alice)
    started = (await alice.send("GET", app.authorize_path("account:read"))).ok(303)
    secrets = {
        "code": code,
        "spent code": spent,
        "access token": tokens["access_token"],
        "refresh token": tokens["refresh_token"],
        "next refresh token": refreshed["refresh_token"],
        "client secret": app.client_secret or "",
        "API key": await alice.key(),
        "live API key": await alice.key("live"),
        "signing secret": await activate_secret(alice),
        "password": PASSWORD,
        "session": next(iter(alice.http.cookie_jar)).value,
        "second factor": authenticator.secret,
        "backup code": authenticator.backup_codes[0].replace("-", ""),
        "authorization request": started.location.rpartition("/")[2],
        "Idempotency-Key": "a-key-that-nobody-else-would-choose",
    }
    (await alice.post("/payment-links", COFFEE, key=secrets["Idempotency-Key"])).ok(201)
    dump = subprocess.run(
        [server.cluster.binaries / "bin" / "pg_dump", "--data-only", "--column-inserts", service.dsn],
        capture_output=True,
        check=True,
    ).stdout
    assert alice.email.encode() in dump
    for name, secret in secrets.items():
        assert len(secret) >= 16, name
        for spelling in (secret.encode(), secret.encode().hex().encode(), base64.b64encode(secret.encode())[:-4]):
            assert spelling not in dump, name
