"""The settings of the Integration API, and uploaded logos: by the hash of their content, with a policy for images alone."""

from starlette.responses import Response

from tollhouse.accounts.environments import settings_store
from tollhouse.accounts.environments.logos_model import ROOT, digest_of
from tollhouse.accounts.identity.guards import payer, scope
from tollhouse.accounts.identity.model import Caller
from tollhouse.accounts.settings import actions
from tollhouse.accounts.settings.model import NewSettings, SettingsChanged, SettingsView
from tollhouse.http.operations import INTEGRATION, PAGES, Operations
from tollhouse.http.services import Services, Work
from tollhouse.http.static_files import FOREVER
from tollhouse.kernel.errors import NotFound, ValidationFailed
from tollhouse.platform.database.pool import Pool

INTEGRATION_OPERATIONS = Operations(INTEGRATION)

OPERATIONS = Operations(PAGES)
HEADERS = {
    "Cache-Control": FOREVER,
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "cross-origin",
}
"""Clients of the API show logos too. An SVG that is opened as a page loads and runs nothing."""


@INTEGRATION_OPERATIONS.add("GET", "/settings", guard=scope("settings:read"))
async def read_settings(caller: Caller, services: Services) -> SettingsView:
    """Retrieve the settings. They are those of the current environment."""
    return await actions.get(services, caller.env)


@INTEGRATION_OPERATIONS.add("PUT", "/settings", guard=scope("settings:write"), errors=(ValidationFailed, SettingsChanged))
async def save_settings(caller: Caller, body: NewSettings, work: Work) -> SettingsView:
    """Update the settings. Replaces those of the current environment. Needs the version that was read."""
    return await actions.save(work, caller.env, body)


@OPERATIONS.add("GET", "/logos/{name}", guard=payer, errors=(NotFound,))
async def show_logo(name: str, db: Pool) -> Response:
    """The logo with this hash."""
    digest = digest_of(ROOT + name)
    logo = None if digest is None else await settings_store.get_logo(db, digest)
    if logo is None or logo.path != ROOT + name:
        raise NotFound
    return Response(logo.content, 200, HEADERS | {"ETag": f'"{logo.digest.hex()}"'}, logo.media_type)
