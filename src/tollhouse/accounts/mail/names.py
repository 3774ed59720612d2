"""Makes texts of strangers safe for emails: one short line, without anything that mail programs turn into a link."""

import re
from unicodedata import normalize

from tollhouse.kernel.names import is_readable

CHARS_MAX = 60
DOUBLE = re.compile(r"[:/\\]{2,}")
DOT = re.compile(r"([.\N{IDEOGRAPHIC FULL STOP}@])(?=[^\W\d])")
ELLIPSIS = "…"


def mail_name(text: str, chars_max: int = CHARS_MAX) -> str:
    """The name with a space after each dot or `@` before a letter, and without `://`.

    `shop.example` becomes `shop. example`. Compatibility characters are replaced first, since host names treat them alike.
    """
    plain = "".join(letter if is_readable(letter) else " " for letter in normalize("NFKC", text))
    name = " ".join(DOT.sub(r"\1 ", DOUBLE.sub(" ", plain)).split())
    return name if len(name) <= chars_max else name[: chars_max - 1].rstrip() + ELLIPSIS
