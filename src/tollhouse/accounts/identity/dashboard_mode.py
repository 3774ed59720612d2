"""The mode of a dashboard page: that of the path, else the last one of the user, else live once there are live payments.

It is remembered when the page is opened in another mode than the last one: by GET, not by HEAD, not by a script or a
prefetch of the browser, and not if the page was refused.
"""

from tollhouse.accounts.identity import sessions_store
from tollhouse.accounts.identity.model import MODES, Person
from tollhouse.http.request import Request
from tollhouse.kernel.ids import Mode

PREFETCH_HEADERS = ("sec-purpose", "purpose", "x-moz")


async def mode_of(request: Request, person: Person) -> Mode:
    """The mode of the page of this request."""
    named = MODES.get(request.params.get("mode", "")) or person.remembered_mode
    if named is not None:
        return named
    return "live" if await sessions_store.has_live_payments(request.services.db, person.merchant_id) else "test"


async def remember_mode(request: Request, person: Person) -> None:
    """Remember the mode that the path names, if the user opened the page."""
    named = MODES.get(request.params.get("mode", ""))
    if named is not None and named != person.remembered_mode and _is_opened_by_user(request):
        await sessions_store.set_mode(request.services.db, person.user_id, named)


def _is_opened_by_user(request: Request) -> bool:
    if request.method != "GET" or request.headers.get("sec-fetch-dest") not in {None, "document"}:
        return False
    return not any("prefetch" in (request.headers.get(name) or "") for name in PREFETCH_HEADERS)
