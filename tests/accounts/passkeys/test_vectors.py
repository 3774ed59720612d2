"""The test vectors of the specification: Web Authentication Level 3, editor's draft of 30 July 2026, section "Test Vectors".

`vectors.json` has the inputs and outputs of each example as they stand there, in hexadecimal. What is left out are keys
that only authenticators have, and certificates: this server asks for no attestation.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fido2 import cbor
from fido2.webauthn import AttestationObject
from hypothesis import given
from hypothesis import strategies as st

from tollhouse.accounts.identity import webauthn_model as webauthn
from tollhouse.accounts.identity.webauthn_model import AssertionResponse, AttestationResponse, ClientData, RelyingParty
from tollhouse.kernel import base64url
from tollhouse.kernel.errors import ApiError
from tollhouse.platform.settings.config import load

PARTY = RelyingParty("example.org", "https://example.org")
VECTORS: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "vectors.json").read_text())
OK, UNVERIFIED, EMBEDDED, UNSUPPORTED = "", "user_verification_required", "wrong_origin", "validation_failed"
OUTCOMES = {
    "none-es256": (UNVERIFIED, UNVERIFIED),
    "packed-self-es256": (OK, UNVERIFIED),
    "none-es256-crossOrigin": (EMBEDDED, EMBEDDED),  # a page of another site embeds the one of the ceremony
    "none-es256-topOrigin": (EMBEDDED, EMBEDDED),
    "none-es256-long-credential-id": (UNVERIFIED, OK),
    "packed-es256": (OK, OK),
    "packed-es384": (UNVERIFIED, OK),
    "packed-es512": (OK, UNVERIFIED),
    "packed-rs256": (OK, UNVERIFIED),
    "packed-eddsa": (UNVERIFIED, UNVERIFIED),
    "packed-ed448": (UNSUPPORTED, OK),  # the algorithm is not offered
    "tpm-es256": (OK, OK),
    "android-key-es256": (OK, UNVERIFIED),
    "apple-es256": (UNVERIFIED, UNVERIFIED),
    "fido-u2f-es256": (UNVERIFIED, UNVERIFIED),
}
"""The error of each registration and assertion. The signature is verified before the flag of user verification."""


def sent(vector: dict[str, Any], ceremony: str, member: str) -> str:
    """A value as browsers send it."""
    return base64url.encode(bytes.fromhex(vector[ceremony][member]))


def register(vector: dict[str, Any]) -> None:
    """Verify the registration of an example."""
    text = sent(vector, "registration", "clientDataJSON")
    client = webauthn.read_client_data(text, "webauthn.create", PARTY)
    assert client.challenge == bytes.fromhex(vector["registration"]["challenge"])
    made = webauthn.verify_registration(AttestationResponse(text, sent(vector, "registration", "attestationObject")), PARTY)
    assert made.credential_id == bytes.fromhex(vector["registration"]["credential_id"])
    assert made.public_key == public_key_of(vector)[0]


def public_key_of(vector: dict[str, Any]) -> tuple[bytes, bool]:
    """The key of the example, and whether it may be backed up."""
    data = AttestationObject(bytes.fromhex(vector["registration"]["attestationObject"])).auth_data
    assert data.credential_data is not None
    return cbor.encode(data.credential_data.public_key), data.is_backup_eligible()


def use(vector: dict[str, Any], change: Callable[[bytes], bytes] = bytes, member: str = "signature") -> None:
    """Verify the assertion of an example, with one member changed."""
    text = sent(vector, "authentication", "clientDataJSON")
    client = webauthn.read_client_data(text, "webauthn.get", PARTY)
    assert client.challenge == bytes.fromhex(vector["authentication"]["challenge"])
    members = {name: bytes.fromhex(vector["authentication"][name]) for name in ("authenticatorData", "signature")}
    members[member] = change(members[member])
    public_key, backup_eligible = public_key_of(vector)
    response = AssertionResponse(
        text, base64url.encode(members["authenticatorData"]), base64url.encode(members["signature"])
    )
    webauthn.verify_assertion(response, client, PARTY, public_key, backup_eligible=backup_eligible)


def error_of(verify: Callable[[], object]) -> str:
    """The code of the error; empty if there is none."""
    try:
        verify()
    except ApiError as error:
        return error.code
    return ""


def test_every_example() -> None:
    found = {name: (error_of(lambda: register(vector)), error_of(lambda: use(vector))) for name, vector in VECTORS.items()}  # noqa: B023 - called at once
    assert found == OUTCOMES


@pytest.mark.parametrize("name", [name for name, (_, used) in OUTCOMES.items() if used != EMBEDDED])
def test_a_changed_example_is_not_signed(name: str) -> None:
    def flip_last(raw: bytes) -> bytes:
        return raw[:-1] + bytes([raw[-1] ^ 1])

    def raise_flags(raw: bytes) -> bytes:
        return raw[:32] + bytes([raw[32] ^ 0x04]) + raw[33:]

    assert error_of(lambda: use(VECTORS[name], flip_last)) == "invalid_passkey"
    assert error_of(lambda: use(VECTORS[name], lambda _: b"")) == "invalid_passkey"
    assert error_of(lambda: use(VECTORS[name], raise_flags, "authenticatorData")) == "invalid_passkey"
    assert error_of(lambda: use(VECTORS[name], flip_last, "authenticatorData")) == "invalid_passkey"
    assert error_of(lambda: use(VECTORS[name], lambda raw: raw + b"\0", "authenticatorData")) == "validation_failed"


@pytest.mark.parametrize("name", ["packed-es256", "packed-rs256", "tpm-es256"])
def test_cut_off_anywhere_it_is_malformed(name: str) -> None:
    whole = bytes.fromhex(VECTORS[name]["registration"]["attestationObject"])
    text = sent(VECTORS[name], "registration", "clientDataJSON")
    codes = {
        error_of(lambda: webauthn.verify_registration(AttestationResponse(text, base64url.encode(whole[:size])), PARTY))  # noqa: B023
        for size in range(len(whole))
    }
    assert codes == {"validation_failed"}


HOSTILE = [b"", b"\x81" * 6_000, b"\xa1" * 6_000, b"\x9b" + b"\xff" * 8, b"\xa3", b"\x5b" + b"\xff" * 8, b"\xf6", b"\xff"]


@pytest.mark.parametrize("raw", HOSTILE, ids=lambda raw: repr(raw[:4]))
def test_nested_and_endless_cbor_is_malformed(raw: bytes) -> None:
    assert (
        error_of(lambda: webauthn.verify_registration(AttestationResponse("", base64url.encode(raw)), PARTY)) == UNSUPPORTED
    )
    deep = b"\xa3cfmtdnonegattStmt\xa0hauthData" + raw
    assert (
        error_of(lambda: webauthn.verify_registration(AttestationResponse("", base64url.encode(deep)), PARTY)) == UNSUPPORTED
    )


@given(st.binary(max_size=300), st.integers(min_value=0))
def test_whatever_is_sent_is_one_of_our_errors(raw: bytes, place: int) -> None:
    whole = bytes.fromhex(VECTORS["packed-es256"]["registration"]["attestationObject"])
    at = place % len(whole)
    changed = whole[:at] + raw + whole[at + len(raw) :]
    for sent_bytes in (raw, changed):
        made = AttestationResponse("", base64url.encode(sent_bytes))
        error_of(lambda: webauthn.verify_registration(made, PARTY))  # noqa: B023 - called at once
    client = ClientData(b"", b"\0" * 32)
    response = AssertionResponse("", base64url.encode(raw), base64url.encode(raw))
    key = public_key_of(VECTORS["packed-es256"])[0]
    assert error_of(lambda: webauthn.verify_assertion(response, client, PARTY, key, backup_eligible=True)) != ""


@pytest.mark.parametrize("text", ["a", "AA==", "AB", "A A", "Ä", "A" * 8_196], ids=repr)
def test_base64url_has_one_form(text: str) -> None:
    assert error_of(lambda: webauthn.decode(text, "x")) == "validation_failed"


@pytest.mark.parametrize(
    ("base_url", "party"),
    [
        ("https://pay.example.com", RelyingParty("pay.example.com", "https://pay.example.com")),
        ("https://Pay.example.com:8443/shop", RelyingParty("pay.example.com", "https://pay.example.com:8443")),
        ("https://203.0.113.5", None),
        ("https://[2001:db8::1]:8443", None),
        ("http://localhost:8000", RelyingParty("localhost", "http://localhost:8000", is_local=True)),
        ("http://127.0.0.1:8000", RelyingParty("localhost", "http://localhost:8000", is_local=True)),
        ("http://[::1]", RelyingParty("localhost", "http://localhost", is_local=True)),
    ],
)
def test_the_relying_party_is_the_host_of_the_base_url(base_url: str, party: RelyingParty | None) -> None:
    found = RelyingParty.of(load({"TOLLHOUSE_BASE_URL": base_url}))
    assert found == party
    if found is not None:
        assert found.accepts("http://127.0.0.1:9999") is found.is_local
        assert not found.accepts("https://evil.example")


CLIENT_DATA = '{"type":"webauthn.get","challenge":"AAAA","origin":"https://example.org","crossOrigin":false}'


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        (CLIENT_DATA, ""),
        (CLIENT_DATA.replace("webauthn.get", "webauthn.create"), "validation_failed"),
        (CLIENT_DATA.replace("webauthn.get", "payment.get"), "validation_failed"),
        (CLIENT_DATA.replace("https://example.org", "https://example.org."), "wrong_origin"),
        (CLIENT_DATA.replace("https://example.org", "https://example.org:8443"), "wrong_origin"),
        (CLIENT_DATA.replace("https://example.org", "http://example.org"), "wrong_origin"),
        (CLIENT_DATA.replace("https://example.org", "https://evil.example.org"), "wrong_origin"),
        (CLIENT_DATA.replace("false", "true"), "wrong_origin"),
        (CLIENT_DATA.replace("false", '"no"'), "validation_failed"),
        (CLIENT_DATA.replace("AAAA", "AA=="), "validation_failed"),
        (CLIENT_DATA[:-1], "validation_failed"),
        ("[" * 6_000, "validation_failed"),
        ('{"type":"webauthn.get"}', "validation_failed"),
        ("", "validation_failed"),
    ],
)
def test_what_the_browser_says(changed: str, code: str) -> None:
    assert error_of(lambda: webauthn.read_client_data(base64url.encode(changed.encode()), "webauthn.get", PARTY)) == code
