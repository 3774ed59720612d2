"""Code with colours, by Pygments: its tokens become the four `tok-` classes of the stylesheet."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from html import escape

from markupsafe import Markup
from msgspec import Struct
from pygments.token import Token, _TokenType  # pyright: ignore[reportPrivateUsage]

CLASSES = (
    (Token.Comment, "tok-c"),
    (Token.Literal.String.Symbol, "tok-n"),
    (Token.Literal.String, "tok-s"),
    (Token.Literal.Number, "tok-k"),
    (Token.Keyword, "tok-k"),
    (Token.Name.Tag, "tok-n"),
    (Token.Name.Attribute, "tok-n"),
    (Token.Name.Builtin, "tok-n"),
    (Token.Name.Class, "tok-n"),
    (Token.Name.Constant, "tok-n"),
    (Token.Name.Function, "tok-n"),
    (Token.Name.Variable, "tok-n"),
)
"""The class of each kind of token and of those below it; the first that fits counts. Others have the colour of text."""


class Sample(Struct, frozen=True):
    """Code with the name of its language for people, such as `cURL`, and for Pygments, such as `sh`."""

    label: str
    language: str
    text: str


@cache
def highlight(text: str, language: str) -> Markup:
    """Code of the documentation as HTML. An unknown language has no colours."""
    parts = [_colored(escape(value, quote=False), kind) for kind, value in _tokenizer(language)(text)]
    return Markup("".join(parts))  # noqa: S704 - each part is escaped


def block(text: str, language: str) -> Markup:
    """A block of code."""
    return Markup('<div class="code"><pre tabindex="0"><code>%s</code></pre></div>\n') % highlight(text, language)


def tabs(label: str, name: str, samples: Sequence[Sample]) -> Markup:
    """Samples in several languages as tabs, which need no script. `name` must be unique on the page."""
    choices, panes = Markup(), Markup()
    for number, sample in enumerate(samples):
        checked = "" if number else " checked"
        choices += Markup('<label><input type="radio" name="%s" value="%s"%s>%s</label>') % (
            *(name, sample.label),
            *(checked, sample.label),
        )
        panes += Markup('<section class="pane" aria-label="%s"><pre tabindex="0"><code>%s</code></pre></section>\n') % (
            *(sample.label, highlight(sample.text, sample.language)),
        )
    return Markup(
        '<section class="code tabbed" aria-label="%s"><div class="code-head"><fieldset class="seg">'
        '<legend class="vh">%s</legend>%s</fieldset></div>\n<div class="panes">%s</div></section>\n'
    ) % (label, label, choices, panes)


def _colored(escaped: str, kind: _TokenType) -> str:
    found = next((name for above, name in CLASSES if kind in above), "")
    return f'<span class="{found}">{escaped}</span>' if found and escaped.strip() else escaped


@cache
def _tokenizer(language: str) -> Callable[[str], Iterable[tuple[_TokenType, str]]]:
    from pygments.lexers import (  # noqa: PLC0415 - slow to import, and only the documentation needs it
        get_lexer_by_name,  # pyright: ignore[reportUnknownVariableType]
    )
    from pygments.util import ClassNotFound  # noqa: PLC0415 - the same

    options = {"stripnl": False, "ensurenl": False, "startinline": True}
    try:
        return get_lexer_by_name(language or "text", **options).get_tokens
    except ClassNotFound:
        return get_lexer_by_name("text", **options).get_tokens
