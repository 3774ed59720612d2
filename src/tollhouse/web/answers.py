"""Answers: JSON, pages and refusals, with the headers each must carry."""

from typing import Any

import msgspec
from starlette.responses import Response

from tollhouse.kernel.refusals import Refusal
from tollhouse.web.ask import Ask

ENCODER = msgspec.json.Encoder()
CSP = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
PAGE_HEADERS = {
    "Content-Security-Policy": f"{CSP}; form-action 'self'",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Robots-Tag": "noindex",
}


def json_answer(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A JSON answer of anything msgspec encodes."""
    return Response(ENCODER.encode(body), status, headers, media_type="application/json")


def page(ask: Ask, template: str, status: int = 200, *, free_redirect: bool = False, **facts: Any) -> Response:
    """An HTML page. `free_redirect` lets its form end on another site: browsers hold `form-action` against the redirect."""
    html = ask.house.templates.render(template, request_id=ask.request_id, **facts)
    headers = dict(PAGE_HEADERS)
    if free_redirect:
        headers["Content-Security-Policy"] = CSP
    return Response(html, status, headers, media_type="text/html")


def see_other(location: str) -> Response:
    """303: the browser goes there with GET."""
    return Response(status_code=303, headers={"Location": location})


def refused(ask: Ask, refusal: Refusal, *, html: bool) -> Response:
    """The one body shape of every refusal, or the same facts as a page for a browser."""
    if html:
        answer = page(
            ask, "web/error.html", refusal.status, code=refusal.code, number=refusal.status, message=refusal.message
        )
        answer.headers.update(refusal.headers)
        return answer
    body: dict[str, Any] = {"error": refusal.code, "error_description": refusal.message, "request_id": ask.request_id}
    body.update(refusal.members)
    if refusal.faults:
        body["errors"] = refusal.faults
    return json_answer(body, refusal.status, refusal.headers)
