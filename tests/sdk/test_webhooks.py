"""Webhooks verified by the SDK: a delivery of the service, the vector of the guide, and what is not genuine."""

import hashlib
import hmac
import json
from base64 import b64decode, b64encode
from datetime import UTC, datetime

import pytest
import standardwebhooks

from tests.cast import Actor
from tests.receiver import Receiver
from tollhouse_sdk import SignatureInvalid, verify

SECRET = "whsec_dG9sbGhvdXNlIHdlYmhvb2sgdGVzdCB2ZWN0b3IgMDE="  # noqa: S105 - of the guide
OTHER = "whsec_b3RoZXIgc2VjcmV0IG9mIHRoZSBzYW1lIGxlbmd0aCE="
BODY = '{"id":"018f0000-0000-7000-8000-000000000001","type":"payment.succeeded","amount":"10.50","note":"café"}'.encode()
SIGNED_AT = 1795232340
HEADERS = {
    "webhook-id": "018f0000-0000-7000-8000-000000000001",
    "webhook-timestamp": str(SIGNED_AT),
    "webhook-signature": "v1,Qs5L7yvC92vdaUDLr42I9ufgKLDPZaWS4SHjg9A4aXg=",
}
BARE = {"X-Service-Signature": "455ec953672fbc63bcc1781e7bdfa0a24a3e9e6bab8b955d6025d451ded8f1af"}


def test_the_vector_of_the_guide() -> None:
    assert verify(BODY, HEADERS, SECRET, now=SIGNED_AT)["id"] == HEADERS["webhook-id"]
    assert verify(BODY, {name.upper(): value for name, value in HEADERS.items()}, SECRET, now=SIGNED_AT + 299)
    assert verify(BODY, HEADERS | BARE, [OTHER, SECRET], now=SIGNED_AT - 299)
    assert verify(BODY, BARE, SECRET, tolerance_s=None)


@pytest.mark.parametrize(
    ("changed", "body", "secret", "now"),
    [
        ({}, BODY, SECRET, SIGNED_AT + 301),
        ({}, BODY, SECRET, SIGNED_AT - 301),
        ({}, BODY + b" ", SECRET, SIGNED_AT),
        ({}, BODY, OTHER, SIGNED_AT),
        ({"webhook-id": "018f0000-0000-7000-8000-000000000002"}, BODY, SECRET, SIGNED_AT),
        ({"webhook-timestamp": str(SIGNED_AT + 1)}, BODY, SECRET, SIGNED_AT),
        ({"webhook-timestamp": ""}, BODY, SECRET, SIGNED_AT),
        ({"webhook-timestamp": "²"}, BODY, SECRET, SIGNED_AT),
        ({"webhook-signature": ""}, BODY, SECRET, SIGNED_AT),
        ({"webhook-signature": "v1,é"}, BODY, SECRET, SIGNED_AT),
    ],
)
def test_what_is_not_genuine_or_too_old_is_refused(changed: dict[str, str], body: bytes, secret: str, now: int) -> None:
    with pytest.raises(SignatureInvalid):
        verify(body, HEADERS | BARE | changed, secret, now=now)


def test_a_replay_without_its_time_is_refused() -> None:
    with pytest.raises(SignatureInvalid, match="missing"):
        verify(BODY, BARE, SECRET)
    with pytest.raises(SignatureInvalid):
        verify(BODY, {}, SECRET, tolerance_s=None)


def test_an_event_keeps_its_own_id() -> None:
    """A valid signature of other headers: somebody with the secret who sends one event under the ID of another."""
    other = "018f0000-0000-7000-8000-000000000002"
    signer = standardwebhooks.Webhook(SECRET)
    signature = signer.sign(other, datetime.fromtimestamp(SIGNED_AT, UTC), BODY.decode())
    headers = HEADERS | {"webhook-id": other, "webhook-signature": signature}
    with pytest.raises(SignatureInvalid, match="ID"):
        verify(BODY, headers, SECRET, now=SIGNED_AT)


def test_during_a_rotation_either_secret_verifies() -> None:
    stamped = f"{HEADERS['webhook-id']}.{SIGNED_AT}.".encode() + BODY
    key = b64decode(OTHER.removeprefix("whsec_"))
    new = b64encode(hmac.digest(key, stamped, hashlib.sha256)).decode()
    both = {
        **HEADERS,
        "webhook-signature": f"v1,{new} {HEADERS['webhook-signature']}",
        "X-Service-Signature": hmac.new(OTHER.encode(), BODY, hashlib.sha256).hexdigest(),
        "X-Service-Signature-Previous": BARE["X-Service-Signature"],
    }
    bare = {name: value for name, value in both.items() if name.startswith("X-")}
    for secret in (SECRET, OTHER):
        assert verify(BODY, both, secret, now=SIGNED_AT)
        assert verify(BODY, bare, secret, tolerance_s=None)


def test_what_is_no_secret_is_refused() -> None:
    for secrets in ("", "secret", [], [SECRET, "secret"]):
        with pytest.raises(ValueError, match="whsec_"):
            verify(BODY, HEADERS, secrets, now=SIGNED_AT)


async def test_a_delivery_of_the_service_verifies(alice: Actor, receiver: Receiver) -> None:
    secret = (await alice.post("/webhook/rotate-secret")).ok().body["secret"]
    link = {"display_name": "Coffee", "amount": "4.20", "currency": "EUR", "webhook_url": receiver.url}
    made = (await alice.post("/payment-links", link)).ok(201).body
    (await alice.post(f"/test/payment-links/{made['id']}/simulate", {"outcome": "succeed"})).ok()
    [delivery] = await receiver.wait("payment.succeeded")
    event = verify(delivery.raw, delivery.headers, secret)
    assert event == json.loads(delivery.raw)
    if event["type"] == "payment.succeeded":
        assert event["data"]["object"]["amount_minor"] == 420
    with pytest.raises(SignatureInvalid):
        verify(delivery.raw, delivery.headers, OTHER)
