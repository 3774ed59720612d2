"""What is kept of a request, and what is not: by a list of what is harmless."""

from typing import Any

import msgspec
import pytest

from tollhouse.kernel import tokens
from tollhouse.webhooks.request_log.redaction import BODY_CHARS_MAX, HIDDEN, redact_body, redact_path, redact_query

KEY = tokens.mint("th_live")
SECRETS = [KEY, tokens.mint("that"), tokens.mint("thrt"), tokens.mint("thcs"), tokens.mint("thac"), "whsec_" + "QUJD/+" * 7]


def kept(body: Any) -> Any:
    """What is kept of a body, as Python."""
    return msgspec.json.decode(redact_body(msgspec.json.encode(body)) or "null")


def test_members_of_the_list_are_kept_and_what_is_private_is_are_known_to_have_been_there() -> None:
    assert kept({"amount": "10.50", "currency": "EUR", "max_payments": 3, "livemode": False, "expires_at": None}) == {
        "amount": "10.50",
        "currency": "EUR",
        "max_payments": 3,
        "livemode": False,
        "expires_at": None,
    }
    assert kept({"customer_email": "nina@example.com", "card": 4242424242424242, "pan": 42, "digits": 4242424242}) == {
        "customer_email": HIDDEN,
        "card": HIDDEN,
        "pan": HIDDEN,
        "digits": HIDDEN,
    }


def test_what_can_be_no_secret_is_shown_under_any_name_that_means_none() -> None:
    answer = {
        "on": True,
        "tries": 3,
        "review": "required",
        "delivery": {
            "status": "connection_reset",
            "code": "timeout",
            "http_status": 503,
            "next_at": "2026-12-01T10:00:00.000Z",
        },
        "rows": [{"state": "pending", "row": "01a2026c-8e5d-7416-9721-e156cc4d7a53"}],
    }
    assert kept(answer) == answer


@pytest.mark.parametrize(
    "name",
    ["token", "access_token", "apiKey", "idempotency_key", "password", "new_password", "codes", "backup_codes", "signature",
     "authorization", "client_secret", "code_verifier", "pin", "otp", "session"],
)  # fmt: skip
def test_what_means_a_secret_is_hidden_whatever_it_looks_like(name: str) -> None:
    for value in ("hunter", "pending", 1234, True, {"status": "open"}, ["open"]):
        assert "hunter" not in str(kept({name: value}))
        assert kept({"delivery": {name: value}, name: value})[name] in (HIDDEN, {"status": HIDDEN}, [HIDDEN])
    assert redact_query(f"{name}=open".encode(), (name,)) == f"{name}={HIDDEN}"


def test_a_code_is_shown_where_it_is_a_word() -> None:
    assert kept({"code": "rail_unavailable"}) == {"code": "rail_unavailable"}
    assert kept({"code": "493027"}) == {"code": HIDDEN}


def test_nothing_is_shown_of_what_is_the_merchants_and_its_customers() -> None:
    body = {"metadata": {"id": "x", "amount": "1"}, "recipient": {"status": {"type": "y"}}, "provider_fields": [{"code": 1}]}
    assert kept(body) == {
        "metadata": {"id": HIDDEN, "amount": HIDDEN},
        "recipient": {"status": {"type": HIDDEN}},
        "provider_fields": [{"code": HIDDEN}],
    }


def test_of_addresses_the_host_is_kept() -> None:
    shown = kept(
        {"webhook_url": "https://user:pw@shop.example:8443/hook/s3cr3t?token=1", "url": "ftp://x/", "success_url": 5}
    )
    assert shown == {"webhook_url": "https://shop.example/…", "url": HIDDEN, "success_url": HIDDEN}
    assert kept({"url": "http://[::1"}) == {"url": HIDDEN}


def test_errors_are_kept() -> None:
    errors = [{"field": "redirect_uris.0", "code": "duplicate", "message": "Listed before."}]
    assert kept({"error": "validation_failed", "errors": errors})["errors"] == errors
    assert kept({"errors": [{"field": f"a.{KEY}", "code": "unknown_field"}]})["errors"][0]["field"] == f"a.{HIDDEN}"


@pytest.mark.parametrize("secret", SECRETS, ids=lambda secret: secret[:5])
def test_our_secrets_are_kept_nowhere(secret: str) -> None:
    assert secret not in str(
        redact_body(msgspec.json.encode({"status": f"a {secret} b", secret: 1, "errors": [{secret: secret}]}))
    )
    assert secret not in redact_path(f"/payment-links/{secret}/x")
    for query in (f"status={secret}", f"{secret}=1", f"token={secret}", f"status=open&status={secret}"):
        assert secret not in redact_query(query.encode(), ("status",))
    assert secret[:30] not in redact_path("/" + "x" * 280 + secret)


def test_a_query_keeps_its_declared_parameters() -> None:
    assert redact_query(b"", ()) == ""
    assert redact_query(b"status=open&page=2&customer=nina", ("status", "page")) == f"status=open&page=2&customer={HIDDEN}"
    assert redact_query(b"state=open&before=x1", ()) == f"state=open&before={HIDDEN}"
    assert redact_query(b"external_id=7", ("external_id",)) == f"external_id={HIDDEN}"
    assert redact_query(b"%zz", ()) == HIDDEN
    assert "\n" not in redact_query(b"status=a%0Ab", ("status",))


def test_what_no_line_can_hold_is_replaced() -> None:
    assert redact_path("/a\0b\nc") == "/a\ufffdb\ufffdc"
    assert len(redact_path("/" + "x" * 1000)) == 300


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (b"", None),
        (b"nonsense", "no JSON"),
        (b"\xff", "no JSON"),
        (b"[" * 5000 + b"]" * 5000, "no JSON"),
        (b"[" * 100 + b"]" * 100, f'[[[["{HIDDEN}"]]]]'),
        (b'"a text"', f'"{HIDDEN}"'),
        (b'{"a": {"b": {"c": {"d": {"e": 1}}}}}', f'{{"a":{{"b":{{"c":{{"d":"{HIDDEN}"}}}}}}}}'),
        (b'"' + b"x" * 20_000 + b'"', "20,002 bytes"),
    ],
)
def test_bodies_of_other_kinds(body: bytes, shown: str | None) -> None:
    assert redact_body(body) == shown


def test_what_is_kept_is_short() -> None:
    body = {f"{letter}{n}": ["x"] * 30 for letter in "abc" for n in range(60)}
    assert len(redact_body(msgspec.json.encode(body)) or "") <= BODY_CHARS_MAX
    assert len(kept({f"m{n}": 1 for n in range(60)})) == 50
    assert kept({"status": "x" * 1000}) == {"status": "x" * 200}
