"""Which rails there are in each environment."""

from tollhouse.kernel.ids import Mode
from tollhouse.rails.provider import Provider, RailFault
from tollhouse.rails.sandbox import Sandbox

SANDBOX = Sandbox()
RAILS: dict[tuple[str, Mode], Provider] = {(SANDBOX.name, SANDBOX.mode): SANDBOX}


def rail(name: str, mode: Mode) -> Provider | None:
    """The rail of this name in this environment; None when none is configured there."""
    return RAILS.get((name, mode))


def fault(name: str, mode: Mode) -> RailFault | None:
    """Why the rail of this name cannot be used in this environment now; None when it can."""
    provider = rail(name, mode)
    if provider is None:
        return "provider_not_configured"
    health = provider.health()
    return None if health.available else health.reason or "provider_down"
