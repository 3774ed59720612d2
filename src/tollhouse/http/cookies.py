"""Session cookies, and the check that another site does not use them."""

from typing import Literal

from starlette.requests import cookie_parser
from starlette.responses import Response

from tollhouse.http.base_path import path_of
from tollhouse.http.request import Request
from tollhouse.kernel.errors import CrossOriginForbidden, MisdirectedRequest
from tollhouse.platform.settings.config import Settings
from tollhouse.platform.settings.values import bare_host, is_local_url

Kind = Literal["session", "operator", "signin", "operator_signin", "passkey", "operator_passkey"]
"""The kinds of sessions: of a merchant's user, of an operator, of a sign-in that waits for the second factor, and of a
browser that may sign in with a passkey. Each has its own cookie."""
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


def cookie_name(settings: Settings, kind: Kind = "session") -> str:
    """The cookie of a session."""
    return prefixed_cookie_name(settings, kind)


def prefixed_cookie_name(settings: Settings, name: str) -> str:
    """`__Host-` binds the cookie to this host over https; browsers refuse that name over plain http.

    It requires the path `/`. Below a base path the cookie has that path, so that the rest of the host does not get it.
    """
    if not settings.secure:
        return f"tollhouse_{name}"
    return f"__Secure-tollhouse_{name}" if path_of(settings) else f"__Host-tollhouse_{name}"


def session_id(request: Request, kind: Kind = "session") -> str | None:
    """The session id of the browser; None if there is none or it was sent twice."""
    return cookie_value(request, cookie_name(request.services.settings, kind))


def cookie_value(request: Request, name: str) -> str | None:
    """The value of this cookie; None if there is none or it was sent twice."""
    header = request.headers.getlist("cookie")
    if len(header) != 1 or header[0].count(f"{name}=") > 1:
        return None
    return cookie_parser(header[0]).get(name) or None


def values_by_prefix(request: Request, prefix: str) -> list[str]:
    """The values of all cookies whose names begin so."""
    header = request.headers.getlist("cookie")
    if len(header) != 1:
        return []
    named = prefixed_cookie_name(request.services.settings, prefix)
    return [value for name, value in cookie_parser(header[0]).items() if name.startswith(named)]


def set_session_cookie(response: Response, settings: Settings, secret: str, max_age_s: int, kind: Kind = "session") -> None:
    """Set the session cookie: HttpOnly, SameSite=Lax (with Strict, users who follow a link would look signed out)."""
    name = cookie_name(settings, kind)
    response.set_cookie(name, secret, max_age=max_age_s, path="/", secure=settings.secure, httponly=True, samesite="lax")


def set_on_response(request: Request, value: str, max_age_s: int, kind: Kind = "session") -> None:
    """Set this cookie with the response of this request."""
    request.cookies_to_set.append((cookie_name(request.services.settings, kind), value, max_age_s))


def add_cookies(request: Request, response: Response) -> None:
    """Add the cookies that were set during the request to the response."""
    secure = request.services.settings.secure
    for name, value, max_age_s in request.cookies_to_set:
        response.set_cookie(name, value, max_age=max_age_s, path="/", secure=secure, httponly=True, samesite="lax")


def clear_session_cookie(response: Response, settings: Settings, kind: Kind = "session") -> None:
    """Delete the session cookie."""
    name = cookie_name(settings, kind)
    response.delete_cookie(name, path="/", secure=settings.secure, httponly=True, samesite="lax")


def require_own_host(request: Request) -> None:
    """Reject a page of another host than that of the base URL. Raises `MisdirectedRequest`.

    A base URL on this machine accepts every name of this machine, on any port: they reach only this machine.
    """
    settings = request.services.settings
    sent = request.headers.getlist("host")
    named = f"{'https' if settings.secure else 'http'}://{sent[0] if len(sent) == 1 else ''}"
    try:
        host, local = bare_host(named), is_local_url(named)
    except ValueError:
        host, local = "", False
    if host != settings.host and not (settings.is_local and local):
        raise MisdirectedRequest


def require_same_origin(request: Request) -> None:
    """Reject a state-changing request that another site caused. Raises `CrossOriginForbidden`."""
    if request.method in SAFE:
        return
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        if site not in {"same-origin", "none"}:
            raise CrossOriginForbidden
        return
    origin = request.headers.get("origin")
    if origin is not None and origin != request.services.settings.origin:
        raise CrossOriginForbidden
