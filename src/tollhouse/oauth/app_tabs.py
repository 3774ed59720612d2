"""One application on its owner's pages: finding it, the tabs around it, and the name that is typed before what ends much."""

from typing import Any, Literal

from starlette.responses import Response

from tollhouse.http.form_errors import NOT_SAVED
from tollhouse.http.forms import Form, flash_message
from tollhouse.http.request import Request
from tollhouse.http.responses import page
from tollhouse.identity.model import Person
from tollhouse.kernel.errors import ApiError, NotFound
from tollhouse.oauth import clients_store
from tollhouse.oauth.model import ClientView

Tab = Literal["overview", "settings", "secret", "connections", "danger"]
TITLES: dict[Tab, str] = {
    "overview": "Overview",
    "settings": "Settings",
    "secret": "Secret",
    "connections": "Connections",
    "danger": "Danger",
}
NOTICES = {
    "registered": "The application is registered already. If you have not copied its secret, replace it under Secret.",
    "saved": "The settings are saved.",
    "paused": "The application is paused. Its connections have ended.",
    "resumed": "The application is resumed. Merchants can connect to it.",
    "revoked": "The application is revoked. Its connections have ended.",
    "disconnected": "The merchant is disconnected.",
    "all": "All merchants are disconnected.",
}
ANOTHER_NAME = "This is not the name of the application."


async def owned(request: Request, person: Person, client_id: str) -> ClientView:
    """The person's application. Raises `NotFound` where there is none, or it is somebody else's."""
    client = await clients_store.owned_one(request.services.db, person.merchant_id, client_id, request.now)
    if client is None:
        raise NotFound
    return client


def tab_page(
    request: Request, person: Person, client: ClientView, tab: Tab, *, error: ApiError | None = None, **facts: Any
) -> Response:
    """A tab of an application. A refusal stands above it; `template`, `status` and `message` say what is otherwise."""
    done = flash_message(request.query) if request.method == "GET" else ""
    status = facts.pop("status", error.status if error else 200)
    return page(
        request,
        facts.pop("template", f"oauth/app_{tab}.html"),
        status,
        person=person,
        mode="test",
        here="apps",
        client=client,
        tab=tab,
        titles=TITLES,
        words=NOTICES.get(done, ""),
        message=facts.pop("message", error.message if error else ""),
        **facts,
    )


def misnamed(form: Form, client: ClientView) -> dict[str, str]:
    """What is wrong with the name that was typed to confirm; nothing, where it is the application's (or its client ID)."""
    typed = _folded(form.one("confirm") or "")
    return {} if typed in {_folded(client.name), client.client_id} else {"confirm": ANOTHER_NAME}


def unconfirmed(
    request: Request, person: Person, client: ClientView, tab: Tab, field_errors: dict[str, str], **facts: Any
) -> Response:
    """The tab again, because another name was typed."""
    return tab_page(request, person, client, tab, status=422, message=NOT_SAVED, field_errors=field_errors, **facts)


def _folded(text: str) -> str:
    return " ".join(text.split())
