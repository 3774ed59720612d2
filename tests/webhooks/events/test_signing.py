"""The signature, against the published vector and the Standard Webhooks rules."""

import base64
import hashlib
import hmac
from uuid import UUID

import pytest

from tollhouse.webhooks.delivery.signed_request import signature, standard_headers

SECRET = "whsec_ZGV2LW9ubHktc2VjcmV0LWZvci10ZXN0LXZlY3Rvcg"  # noqa: S105 - the published vector
BODY = ('{"id":"018f0000-0000-7000-8000-000000000001","type":"payment.succeeded","amount":"10.50","note":"café"}').encode()


@pytest.mark.covers("W-19", "W-20", "S-60")
def test_the_published_vector() -> None:
    assert signature(SECRET, BODY) == "9be1916915e027149fe7ba1bc454bc0f41da94616cf57f8986799c170ed69361"
    assert signature(SECRET, BODY + b" ") != signature(SECRET, BODY)


def test_the_standard_triple_is_keyed_with_the_decoded_secret() -> None:
    event_id = UUID("018f0000-0000-7000-8000-000000000001")
    headers = standard_headers([SECRET], event_id, 1_700_000_000, BODY)
    signed = f"{event_id}.1700000000.".encode() + BODY
    digest = hmac.new(b"dev-only-secret-for-test-vector", signed, hashlib.sha256).digest()
    assert headers == {
        "webhook-id": str(event_id),
        "webhook-timestamp": "1700000000",
        "webhook-signature": "v1," + base64.b64encode(digest).decode(),
    }


def test_a_secret_that_is_no_base64_is_refused() -> None:
    with pytest.raises(ValueError, match="base64"):
        standard_headers(["whsec_not base64!"], UUID(int=1), 0, b"")
