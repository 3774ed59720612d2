"""A page for each error code: what it means, why it happens, what to do, and which endpoints return it."""

import inspect
import re
from collections.abc import Iterator, Mapping
from http import HTTPStatus

from tollhouse.instance.docs import book
from tollhouse.instance.docs.book import Chapter
from tollhouse.instance.docs.entries import ReferenceEntry
from tollhouse.instance.docs.reference import error_codes
from tollhouse.kernel.errors import ApiError

CAUSE = re.compile(r"\d{3}[^:.]*: (?P<cause>.+)", re.DOTALL)
REFUSED = 400
AFTER_STATUS: Mapping[int, str] = {
    400: "Correct the request and send it again.",
    401: "Send a valid credential.",
    403: "Use a credential that may do this.",
    404: "Check the ID.",
    409: "Read the object again, and decide by its current state.",
    410: "Create a new one.",
    422: "Correct the request and send it again; the same `Idempotency-Key` can be used.",
    429: "Wait for the seconds in `Retry-After`.",
    503: "Repeat the request after `Retry-After` with the same `Idempotency-Key`.",
}
"""What to do, for codes that do not say it themselves."""
ELSEWHERE = "It is returned by pages, by the web server, or by every endpoint."


def error_pages(found: Mapping[str, ReferenceEntry]) -> dict[str, Chapter]:
    """The pages by code."""
    kinds: dict[str, list[type[ApiError]]] = {}
    for kind in sorted(_kinds(ApiError), key=lambda kind: (kind.code, kind.status, kind.__name__)):
        kinds.setdefault(kind.code, []).append(kind)
    places: dict[str, dict[str, str]] = {}
    for entry in found.values():
        for _, code, _ in error_codes(entry.shown):
            places.setdefault(code, {})[entry.name] = entry.title
    texts = {code: _text(code, members, places.get(code, {})) for code, members in kinds.items()}
    return {code: book.read(f"errors/{code}", "", text) for code, text in texts.items()}


def _kinds(above: type[ApiError]) -> Iterator[type[ApiError]]:
    """The errors of the service that are no redirects and say what they are."""
    for kind in above.__subclasses__():
        if kind.status >= REFUSED and kind.__module__.startswith(f"{__name__.partition('.')[0]}.") and kind.__doc__:
            if kind.__doc__[:1].isdecimal():
                yield kind
            yield from _kinds(kind)


def _text(code: str, kinds: list[type[ApiError]], places: Mapping[str, str]) -> str:
    statuses = list(dict.fromkeys(f"{kind.status} {HTTPStatus(kind.status).phrase}" for kind in kinds))
    solutions = [kind.solution or AFTER_STATUS.get(kind.status, AFTER_STATUS[REFUSED]) for kind in kinds]
    links = [f"- [{title}](/docs/api/{name}.md)" for name, title in places.items()]
    parts = [
        f"# {code}",
        f"HTTP status: `{'`, `'.join(statuses)}`. Nothing was changed, unless the message says that the outcome is unknown.",
        *_section("Message", [str(kind.message) for kind in kinds]),
        *_section("Cause", [_cause(kind) for kind in kinds]),
        *_section("What to do", solutions),
        "## Endpoints",
        "\n".join(links) or ELSEWHERE,
        "The format of errors and when to retry are described in [Errors](/docs/errors.md).",
    ]
    return "\n\n".join(parts) + "\n"


def _cause(kind: type[ApiError]) -> str:
    match = CAUSE.fullmatch(inspect.cleandoc(kind.__doc__ or ""))
    cause = " ".join(match["cause"].split()) if match else ""
    return cause[:1].upper() + cause[1:]


def _section(title: str, sentences: list[str]) -> Iterator[str]:
    """A section with each of these sentences once; none if all are empty."""
    found = [sentence for sentence in dict.fromkeys(sentences) if sentence]
    if found:
        yield f"## {title}"
        yield "\n".join(f"- {sentence}" for sentence in found) if len(found) > 1 else found[0]
