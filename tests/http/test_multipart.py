"""Forms with files: what browsers send is read byte for byte, and what is not clear is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tollhouse.http.forms import FIELDS_MAX, parse_multipart
from tollhouse.kernel.errors import InvalidRequest

KIND = "multipart/form-data; boundary=----WebKitFormBoundaryx7"
LINE = b"------WebKitFormBoundaryx7"


def form(*fields: tuple[str, bytes], ends: bytes = b"--\r\n") -> bytes:
    """A form as browsers write it, with a file in each field."""
    head = b'Content-Disposition: form-data; name="%s"; filename="a.xml"\r\nContent-Type: text/xml\r\n\r\n'
    return b"".join(LINE + b"\r\n" + head % name.encode() + content + b"\r\n" for name, content in fields) + LINE + ends


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_files_are_read_byte_for_byte(first: bytes, second: bytes) -> None:
    raw = form(("file", first), ("größe", second))
    assert parse_multipart(KIND, raw) == {"file": first, "größe": second}


@pytest.mark.parametrize(
    "kind",
    [
        'multipart/form-data; boundary="----WebKitFormBoundaryx7"',
        "Multipart/Form-Data; charset=utf-8; Boundary=----WebKitFormBoundaryx7 ; x=y",
    ],
)
def test_however_the_boundary_is_written(kind: str) -> None:
    assert parse_multipart(kind, form(("file", b"\r\n--\r\n"))) == {"file": b"\r\n--\r\n"}


def test_the_name_is_not_taken_from_the_files_name() -> None:
    raw = LINE + b'\r\nContent-Disposition: form-data; filename="name="; name="file"\r\n\r\nx\r\n' + LINE + b"--"
    with pytest.raises(InvalidRequest):
        parse_multipart(KIND, raw)


@pytest.mark.parametrize(
    ("kind", "raw"),
    [
        ("multipart/form-data", form(("file", b"x"))),
        ("multipart/form-data; boundary=", form(("file", b"x"))),
        (f"multipart/form-data; boundary={'x' * 71}", form(("file", b"x"))),
        ("multipart/form-data; boundary=another", form(("file", b"x"))),
        (KIND, b""),
        (KIND, b"before\r\n" + form(("file", b"x"))),
        (KIND, form(("file", b"x"), ends=b"")),
        (KIND, form(("file", b"x"), ends=b"--\r\nafter")),
        (KIND, form(("file", b"x")).replace(b"\r\n\r\n", b"\r\n")),
        (KIND, form(("file", b"x")).replace(b"form-data; name", b"form-data; title")),
        (KIND, form(("file", b"x"), ("file", b"y"))),
        (KIND, form(*((f"field{nth}", b"x") for nth in range(FIELDS_MAX + 1)))),
    ],
)
def test_what_is_not_clear_is_refused(kind: str, raw: bytes) -> None:
    with pytest.raises(InvalidRequest):
        parse_multipart(kind, raw)
