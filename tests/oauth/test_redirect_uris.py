"""Redirect URIs: registration rules and appending a response."""

import pytest

from tollhouse.oauth import redirect_uris

ACCEPTED = [
    "https://app.example",
    "https://app.example/callback",
    "https://app.example/callback?keep=1&more=%20",
    "https://app.example:8443/cb",
    "https://APP.example/Cb",
    "https://203.0.113.9/cb",
    "https://[2001:db8::1]:8443/cb",
    "https://my_app.example/cb",
    "https://app.example/cb?",
    "http://localhost/cb",
    "http://localhost:3000/cb",
    "http://127.0.0.1:8080/cb",
    "http://127.9.9.9/cb",
    "http://[::1]/cb",
    "http://[::1]:8080/cb?x=1",
]
REFUSED = {
    "": "invalid_length",
    "https://app.example/" + "a" * 2029: "invalid_length",
    "http://app.example/cb": "https_required",
    "http://localhost.evil.com/cb": "https_required",
    "http://127.0.0.1.nip.io/cb": "https_required",
    "http://0.0.0.0/cb": "https_required",
    "http://[::]/cb": "https_required",
    "http://[::ffff:127.0.0.1]/cb": "https_required",
    "http://10.0.0.1/cb": "https_required",
    "http://127.1/cb": "invalid_host",
    "http://2130706433/cb": "invalid_host",
    "http://0x7f.0.0.1/cb": "invalid_host",
    "http://127.0.0.0x1/cb": "invalid_host",
    "http://127.0.0.01/cb": "invalid_host",
    "myapp://callback": "invalid_scheme",
    "com.example.app:/cb": "invalid_scheme",
    "javascript:alert(1)": "invalid_scheme",
    "data:text/html,x": "invalid_scheme",
    "//app.example/cb": "invalid_scheme",
    "/callback": "invalid_scheme",
    "app.example/cb": "invalid_scheme",
    "HTTPS://app.example/cb": "invalid_scheme",
    "https:app.example/cb": "invalid_scheme",
    "https:///cb": "invalid_host",
    "https://": "invalid_host",
    "https://user@app.example/cb": "credentials_forbidden",
    "https://user:pass@app.example/cb": "credentials_forbidden",
    "https://good.example@evil.example/cb": "credentials_forbidden",
    "https://app.example/cb#": "fragment_forbidden",
    "https://app.example/cb#part": "fragment_forbidden",
    "https://*.example/cb": "wildcard_forbidden",
    "https://app.example/*": "wildcard_forbidden",
    "https://app.example/a b": "invalid_characters",
    " https://app.example/cb": "invalid_characters",
    "https://app.example/cb\n": "invalid_characters",
    "https://app.ex\tample/cb": "invalid_characters",
    "https://app.example\\@evil.example/cb": "invalid_characters",
    "https://app.example/%zz": "invalid_characters",
    "https://äpp.example/cb": "invalid_characters",
    "https://app.example:0/cb": "invalid_port",
    "https://app.example:65536/cb": "invalid_port",
    "https://app.example:/cb": "invalid_host",
    "https://app.example:port/cb": "invalid_host",
    "https://-app.example/cb": "invalid_host",
    "https://app..example/cb": "invalid_host",
    "https://app.example./cb": "invalid_host",
    "https://[::1/cb": "invalid_host",
    "https://[gg::1]/cb": "invalid_host",
    "https://app.example/cb?state=1": "reserved_parameter",
    "https://app.example/cb?x=1&code=": "reserved_parameter",
}


@pytest.mark.covers("O-188")
@pytest.mark.parametrize("uri", ACCEPTED)
def test_valid_redirect_uris(uri: str) -> None:
    assert redirect_uris.find_error(uri) is None


@pytest.mark.covers("O-187")
@pytest.mark.parametrize(("uri", "code"), REFUSED.items())
def test_invalid_redirect_uris(uri: str, code: str) -> None:
    wrong = redirect_uris.find_error(uri)
    assert wrong is not None
    assert wrong.code == code


@pytest.mark.covers("O-49", "O-50")
@pytest.mark.parametrize(
    ("callback", "expected"),
    [
        ("https://a.example/cb", "https://a.example/cb?code=c&state=a%26b+%C3%A9"),
        ("https://a.example/cb?keep=1", "https://a.example/cb?keep=1&code=c&state=a%26b+%C3%A9"),
        ("https://a.example/cb?", "https://a.example/cb?code=c&state=a%26b+%C3%A9"),
        ("https://a.example/cb?keep=1&", "https://a.example/cb?keep=1&code=c&state=a%26b+%C3%A9"),
    ],
)
def test_response_is_added_to_the_query(callback: str, expected: str) -> None:
    assert redirect_uris.redirect_url(callback, code="c", state="a&b é", error=None) == expected


def test_origin_and_host() -> None:
    assert redirect_uris.origin_of("https://app.example:8443/cb?x=1") == "https://app.example:8443"
    assert redirect_uris.host_of("https://www.app.example/about") == "www.app.example"
