"""The pages on which owners see and register their applications."""

from msgspec import Struct
from starlette.responses import Response

from tollhouse.callers.guards import signed_in_page
from tollhouse.callers.model import Person
from tollhouse.kernel.refusals import ValidationFailed
from tollhouse.kernel.scopes import PERMISSIONS
from tollhouse.oauth import clients, clients_store, settings
from tollhouse.oauth.settings import SettingsBody
from tollhouse.web.answers import page
from tollhouse.web.ask import Ask
from tollhouse.web.operations import PAGES, Operations

OPERATIONS = Operations(PAGES)


class Typed(Struct, frozen=True):
    """What stands in the form."""

    name: str = ""
    client_type: str = "confidential"
    description: str = ""
    website_url: str = ""
    redirect_uris: str = ""
    scopes: tuple[str, ...] = ()

    def body(self) -> SettingsBody:
        """The settings body that this form means: one callback a line."""
        return SettingsBody(
            name=self.name,
            client_type=self.client_type,
            description=self.description.replace("\r\n", "\n"),
            website_url=self.website_url or None,
            redirect_uris=[line.strip() for line in self.redirect_uris.splitlines() if line.strip()],
            scopes=list(self.scopes),
        )


@OPERATIONS.add("GET", "/developers/apps", guard=signed_in_page)
async def applications(ask: Ask, caller: Person) -> Response:
    """The applications that this merchant owns."""
    owned = await clients_store.owned(ask.house.db, caller.merchant_id, ask.now)
    return page(ask, "oauth/apps.html", person=caller, mode="test", here="apps", clients=owned)


@OPERATIONS.add("GET", "/developers/apps/new", guard=signed_in_page)
async def new_application(ask: Ask, caller: Person) -> Response:
    """The form for a new application."""
    return _form(ask, caller, Typed())


@OPERATIONS.add("POST", "/developers/apps", guard=signed_in_page)
async def register(ask: Ask, caller: Person) -> Response:
    """Register the application, and show its secret once."""
    form = ask.form()
    typed = Typed(
        form.one("name") or "",
        form.one("client_type") or "",
        form.one("description") or "",
        form.one("website_url") or "",
        form.one("redirect_uris") or "",
        tuple(form.all("scope")),
    )
    try:
        checked = settings.check_new(typed.body())
    except ValidationFailed as refusal:
        return _form(ask, caller, typed, refusal)
    async with ask.house.db.transaction() as tx:
        made = await clients.register(tx, caller.merchant_id, checked, ask.now)
    return page(
        ask,
        "oauth/app_made.html",
        person=caller,
        mode="test",
        here="apps",
        client=made,
        secret=made.client_secret or "",
        base_url=ask.house.settings.base_url,
    )


def _form(ask: Ask, person: Person, typed: Typed, refusal: ValidationFailed | None = None) -> Response:
    faults = refusal.faults if refusal else ()
    return page(
        ask,
        "oauth/app_new.html",
        refusal.status if refusal else 200,
        person=person,
        mode="test",
        here="apps",
        asked=typed,
        permissions=PERMISSIONS,
        message=refusal.message if refusal else "",
        faults={fault.field: fault.message for fault in faults},
        callback_faults=" ".join(
            _of_line(fault.field, fault.message) for fault in faults if fault.field.startswith("redirect_uris")
        ),
        scope_faults=" ".join(fault.message for fault in faults if fault.field.startswith("scopes")),
    )


def _of_line(field: str, message: str) -> str:
    """The message, with the number of the line it is about."""
    place = field.partition(".")[2]
    return f"Line {int(place) + 1}: {message}" if place else message
