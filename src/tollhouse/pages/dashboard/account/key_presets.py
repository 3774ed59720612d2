"""What API keys are used for: choices of permissions in place of a long list."""

from msgspec import Struct

from tollhouse.http.forms import Form
from tollhouse.kernel.scopes import PERMISSIONS

GRANTABLE = [permission for permission in PERMISSIONS if permission.access != "offline"]
READ = [permission.scope for permission in GRANTABLE if permission.access == "read"]
OF_PAYMENTS = ("payments:write", "webhooks:write")
CUSTOM = "custom"


class KeyPreset(Struct, frozen=True):
    """A choice: its title, what a key can do with it, and its scopes."""

    name: str
    title: str
    help: str
    scopes: tuple[str, ...]


PRESETS = (
    KeyPreset(
        "payments",
        "Take payments",
        "Reads everything, creates payment links, refunds payments and manages webhooks. It cannot withdraw or convert.",
        tuple(
            permission.scope for permission in GRANTABLE if permission.access == "read" or permission.scope in OF_PAYMENTS
        ),
    ),
    KeyPreset("read", "Read only", "Reads everything and changes nothing, for example for reports.", tuple(READ)),
    KeyPreset(
        "everything",
        "Everything",
        "Also withdraws, converts and delivers. Anyone with the key can move your balance.",
        tuple(permission.scope for permission in GRANTABLE),
    ),
)
BY_NAME = {preset.name: preset for preset in PRESETS}


def scopes_of(form: Form) -> list[str] | None:
    """The scopes that the form asks for; None if it says nothing about them."""
    preset = BY_NAME.get(form.one("preset") or "")
    if preset is not None:
        return list(preset.scopes)
    return form.all("scope") if form.one("choice") else None


def title_of(scopes: list[str]) -> str:
    """The title of the choice with exactly these scopes; empty if there is none."""
    return next((preset.title for preset in PRESETS if set(preset.scopes) == set(scopes)), "")
