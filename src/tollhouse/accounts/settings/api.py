"""The settings of the Integration API."""

from tollhouse.accounts.identity.guards import scope
from tollhouse.accounts.identity.model import Caller
from tollhouse.accounts.settings import actions
from tollhouse.accounts.settings.model import NewSettings, SettingsChanged, SettingsView
from tollhouse.http.operations import INTEGRATION, Operations
from tollhouse.http.services import Services, Work
from tollhouse.kernel.errors import ValidationFailed

INTEGRATION_OPERATIONS = Operations(INTEGRATION)


@INTEGRATION_OPERATIONS.add("GET", "/settings", guard=scope("settings:read"))
async def read_settings(caller: Caller, services: Services) -> SettingsView:
    """Retrieve the settings. They are those of the current environment."""
    return await actions.get(services, caller.env)


@INTEGRATION_OPERATIONS.add("PUT", "/settings", guard=scope("settings:write"), errors=(ValidationFailed, SettingsChanged))
async def save_settings(caller: Caller, body: NewSettings, work: Work) -> SettingsView:
    """Update the settings. Replaces those of the current environment. Needs the version that was read."""
    return await actions.save(work, caller.env, body)
