"""The tabs of an application's pages, and the confirmation by typing its name."""

from typing import Any, Literal

from starlette.responses import Response

from tollhouse.accounts.identity.model import Person
from tollhouse.http.forms import NOT_SAVED, Form, flash_message
from tollhouse.http.request import Request
from tollhouse.http.responses import page
from tollhouse.kernel.errors import ApiError, NotFound
from tollhouse.oauth import clients_store
from tollhouse.oauth.model import ClientView

Tab = Literal["overview", "settings", "secret", "connections", "danger"]
NOTICES = {
    "registered": "This application was already registered. If you have not copied its client secret, rotate it.",
    "saved": "Settings saved.",
    "paused": "Application paused. All merchants were disconnected.",
    "resumed": "Application resumed. Merchants can connect again.",
    "revoked": "Application revoked. All merchants were disconnected.",
    "disconnected": "Merchant disconnected.",
    "all": "All merchants disconnected.",
}
NAME_MISMATCH = "The name does not match the application."


async def get_client(request: Request, person: Person, client_id: str) -> ClientView:
    """An application of the person's merchant. Raises `NotFound`."""
    client = await clients_store.find_owned(request.services.db, person.merchant_id, client_id, request.now)
    if client is None:
        raise NotFound
    return client


def tab_page(
    request: Request, person: Person, client: ClientView, tab: Tab, *, error: ApiError | None = None, **context: Any
) -> Response:
    """A tab of an application, with the error above it. `template`, `status` and `message` override the defaults."""
    done = flash_message(request.query) if request.method == "GET" else ""
    status = context.pop("status", error.status if error else 200)
    return page(
        request,
        context.pop("template", f"dashboard/applications/app_{tab}.html"),
        status,
        person=person,
        here="apps",
        client=client,
        tab=tab,
        flash=NOTICES.get(done, ""),
        message=context.pop("message", error.message if error else ""),
        **context,
    )


def confirmation_errors(form: Form, client: ClientView, field: str = "confirm") -> dict[str, str]:
    """The field error if the form does not confirm with the application's name or client id."""
    typed = _collapse_spaces(form.one(field) or "")
    return {} if typed in {_collapse_spaces(client.name), client.client_id} else {field: NAME_MISMATCH}


def unconfirmed_page(
    request: Request, person: Person, client: ClientView, tab: Tab, field_errors: dict[str, str], **context: Any
) -> Response:
    """The tab with the errors of `confirmation_errors`."""
    return tab_page(request, person, client, tab, status=422, message=NOT_SAVED, field_errors=field_errors, **context)


def _collapse_spaces(text: str) -> str:
    return " ".join(text.split())
