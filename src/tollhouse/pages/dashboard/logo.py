"""The forms that upload and remove the logo, on the page of the payment settings."""

from starlette.responses import Response

from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person
from tollhouse.accounts.settings import actions
from tollhouse.accounts.settings import actions as logos
from tollhouse.accounts.settings.logo_images import FIELD, read_logo
from tollhouse.accounts.settings.model import SettingsChanged
from tollhouse.http.forms import form_errors_of
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.kernel.errors import ApiError, ValidationFailed
from tollhouse.pages.dashboard.payment_settings import form_of, settings_page

OPERATIONS = Operations(PAGES)
UPLOAD_BYTES_MAX = 4 * 1024 * 1024
"""More than a logo may have, so that a larger image gets an error on the page."""


@OPERATIONS.add("POST", "/{mode}/settings/payments/logo", guard=signed_in_page, body_bytes_max=UPLOAD_BYTES_MAX)
async def upload_logo(request: Request, caller: Person, mode: str) -> Response:
    """Show the uploaded image at checkout, in place of the current logo."""
    env = caller.env(mode)
    try:
        logo = await read_logo(request.file(FIELD))
        await request.transact(lambda work: logos.set_logo(work, env, logo))
    except (ValidationFailed, SettingsChanged) as error:
        return await _refused(request, caller, mode, error)
    return see_other(f"/{env.mode}/settings/payments?done=logo_saved#logo-label")


@OPERATIONS.add("POST", "/{mode}/settings/payments/logo/remove", guard=signed_in_page)
async def remove_logo(request: Request, caller: Person, mode: str) -> Response:
    """Show the initials at checkout again."""
    env = caller.env(mode)
    try:
        await request.transact(lambda work: logos.set_logo(work, env, None))
    except SettingsChanged as error:
        return await _refused(request, caller, mode, error)
    return see_other(f"/{env.mode}/settings/payments?done=logo_removed#logo-label")


async def _refused(request: Request, caller: Person, mode: str, error: ApiError) -> Response:
    current = await actions.get(request.services, caller.env(mode))
    form = form_of(current, request.services.catalogue)
    return await settings_page(request, caller, current, form, form_errors_of(error, (FIELD,)))
