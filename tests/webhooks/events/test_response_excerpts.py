"""What is kept of a receiver's response, whatever it answers."""

import time

import pytest

from tollhouse.webhooks.delivery.response_excerpts import BODY_CHARS_MAX, BYTES_READ, HIDDEN, excerpt

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        (b"", ""),
        (b'{"ok": true}\n', '{"ok": true}\n'),
        ("Größe".encode()[:-3], "Grö"),
        (b"\xff\xfe\x00PNG", None),
        (b"a\0b", None),
        (b"bell\x07", "bell\ufffd"),
        (b"whsec_c2VjcmV0c2VjcmV0c2VjcmV0", HIDDEN),
        (b"key th_live_0123456789abcdefXYZ!", f"key {HIDDEN}!"),
        (f"token={JWT}&x=1".encode(), f"token={HIDDEN}&x=1"),
        (b'{"password": "hunter 2", "user": "nina"}', f'{{"password": {HIDDEN}, "user": "nina"}}'),
        (b"Authorization: Bearer abcdefgh12345", f"Authorization: {HIDDEN} {HIDDEN}"),
        (b"card 4242 4242 4242 4242.", f"card {HIDDEN}."),
        (b"order 1001, amount 4.20", "order 1001, amount 4.20"),
        (b"<script>alert(1)</script>", "<script>alert(1)</script>"),
    ],
)
def test_the_body(body: bytes, kept: str | None) -> None:
    assert excerpt([], body).body == kept


def test_headers_that_are_kept() -> None:
    sent = [
        ("Content-Type", "text/html"),
        ("Set-Cookie", "session=1"),
        ("Location", "https://shop.example/in?token=abc#x"),
        ("X-Unknown", "1"),
        ("Server", "x" * 900),
    ]
    kept = excerpt(sent, b"").headers
    assert kept == {"content-type": "text/html", "location": "https://shop.example/in", "server": "x" * 200}


def test_a_compressed_body_is_not_text() -> None:
    assert excerpt([("Content-Encoding", "gzip")], b"abc").body is None


def test_a_secret_at_the_end_is_not_cut_off_before_it_is_seen() -> None:
    body = b"x " * (BODY_CHARS_MAX // 2 - 4) + b"whsec_" + b"c2VjcmV0" * 8
    kept = excerpt([], body).body
    assert kept is not None
    assert "c2Vj" not in kept
    assert len(kept) <= BODY_CHARS_MAX


@pytest.mark.parametrize("filler", ["eyJ", "a_", "token", "1 ", "-", "secret=", '"token":"', "bearer "])
def test_hostile_bodies_take_no_time(filler: str) -> None:
    begun = time.thread_time()
    excerpt([], (filler * BYTES_READ).encode()[:BYTES_READ])
    assert time.thread_time() - begun < 0.5
