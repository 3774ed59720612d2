"""Responses: JSON, pages and errors, with their headers."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.responses import Response

from tollhouse.http.base_path import BasePath, path_of
from tollhouse.http.forms import ACTING_FOR
from tollhouse.http.local_formats import Formats
from tollhouse.http.operations import IN_BOTH_MODES
from tollhouse.http.preferences import SHORTCUTS, THEME, language_of, preference_of, return_path
from tollhouse.http.request import Request
from tollhouse.kernel.errors import ApiError
from tollhouse.kernel.messages import named

ENCODER = msgspec.json.Encoder()
JSON_TYPE = (b"content-type", b"application/json")
CSP = (
    "default-src 'none'; style-src 'self'; font-src 'self'; script-src 'self'; connect-src 'self'; base-uri 'none'; "
    "frame-ancestors 'none'; img-src 'self' data:"
)
ACCOUNT_PATHS = re.compile(rf'(?<=\s)((?:href|action|formaction)=")(?={"|".join(IN_BOTH_MODES)})')
"""Where a page leads to a page of the account."""
POSTED = re.compile(r'<form (?:class="[^"]*+" )?method="post"(?:[^>"]++|"[^"]*+")*+>')
FORMS_STAY = "; form-action 'self'"
PAGE_HEADERS = {
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Robots-Tag": "noindex",
}


class JsonResponse(Response):
    """A response of encoded JSON. Its headers are known, so Starlette's generic checks are skipped."""

    def __init__(self, body: bytes, status: int, headers: Mapping[str, str] | None = None) -> None:
        self.status_code = status
        self.body = body
        self.background = None
        self.raw_headers = [(b"content-length", b"%d" % len(body)), JSON_TYPE]
        if headers:
            self.raw_headers += [
                (name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()
            ]


class ErrorPage(ApiError):
    """An error with its own page for browsers; other clients get the usual JSON."""

    def __init__(self, template: str, headers: Mapping[str, str] | None = None, **context: Any) -> None:
        self.template = template
        self.context = context
        super().__init__(headers=headers)


def json_response(body: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> JsonResponse:
    """A JSON response of anything that msgspec encodes."""
    return JsonResponse(ENCODER.encode(body), status, headers)


def page(
    request: Request,
    template: str,
    status: int = 200,
    /,
    *,
    allow_external_redirect: bool = False,
    image_origin: str | None = None,
    **context: Any,
) -> Response:
    """An HTML page in the language and time zone of the request.

    `allow_external_redirect` lets its form redirect to another site: browsers apply `form-action` to redirects.
    `image_origin` is another origin of images. Pages of the dashboard know their `mode`, and by `switch_to` the path of the
    same page in the other mode, or of the list that its object belongs to. If the path has the mode, all links keep it.
    `is_of_both_modes`: it shows the same in both. Of a user with several merchants, its forms name the present one.
    """
    context = {"mode": request.mode, "switch_to": _path_in_other_mode(request)} | context
    context |= {
        "request_id": request.request_id,
        "back": return_path(request),
        "is_of_both_modes": request.is_of_both_modes,
        "theme": preference_of(request, THEME),
        "shortcuts": preference_of(request, SHORTCUTS) != "off",
    }
    language = language_of(request)
    html = request.services.templates.render(template, language, request.zone, **context)
    if request.is_mode_in_path:
        html = ACCOUNT_PATHS.sub(rf"\g<1>/{request.mode}", html)
    if request.acting_for:
        html = POSTED.sub(rf'\g<0><input type="hidden" name="{ACTING_FOR}" value="{request.acting_for}">', html)
    html = BasePath(path_of(request.services.settings)).html(html)
    policy = CSP if image_origin is None else f"{CSP} {image_origin}"
    headers = PAGE_HEADERS | {
        "Content-Security-Policy": policy if allow_external_redirect else policy + FORMS_STAY,
        "Content-Language": language,
        "Vary": "Accept-Encoding, Accept-Language, Cookie",
    }
    return Response(html, status, headers, media_type="text/html")


def _path_in_other_mode(request: Request) -> str:
    """Empty outside of the dashboard."""
    if request.mode is None or not request.switch_path:
        return ""
    return f"/{'test' if request.mode == 'live' else 'live'}{request.switch_path}"


def formats_of(request: Request) -> Formats:
    """The formats of amounts and dates for this request."""
    return Formats(language_of(request), request.zone)


def see_other(location: str) -> Response:
    """303: the browser loads this URL with GET."""
    return Response(status_code=303, headers={"Location": location})


def with_headers_of(error: ApiError, response: Response) -> Response:
    """The page that shows this error, with the headers of the error, such as `Retry-After`."""
    response.headers.update(error.headers)
    return response


def error_response(request: Request, error: ApiError, *, html: bool) -> Response:
    """An error in JSON, or as a page for a browser."""
    if html:
        if isinstance(error, ErrorPage):
            response = page(request, error.template, error.status, **error.context)
        else:
            layout = request.error_layout
            context: dict[str, Any] = {
                "layout": layout.template,
                "home": layout.home,
                **layout.values,
                "code": error.code,
                "number": error.status,
                "message": error.message,
                "field_errors": error.field_errors,
            }
            response = page(request, "http/error.html", error.status, **context)
        return with_headers_of(error, response)
    body: dict[str, Any] = {"error": error.code, "error_description": str(error.message), "request_id": request.request_id}
    body["doc_url"] = error.doc_url(request.services.settings.base_url)
    body.update(error.members)
    if error.field_errors:
        body["errors"] = [
            {"field": field_error.field, "code": field_error.code, "message": named(field_error.message, field_error.field)}
            | ({"suggestion": field_error.suggestion} if field_error.suggestion else {})
            for field_error in error.field_errors
        ]
    return json_response(body, error.status, error.headers)
