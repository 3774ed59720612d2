"""Which rails there are in each environment."""

from tollhouse.kernel.ids import Mode
from tollhouse.rails.provider import Provider
from tollhouse.rails.sandbox import Sandbox

SANDBOX = Sandbox()
RAILS: dict[tuple[str, Mode], Provider] = {(SANDBOX.name, SANDBOX.mode): SANDBOX}


def rail(name: str, mode: Mode) -> Provider | None:
    """The rail of this name in this environment; None when none is configured there."""
    return RAILS.get((name, mode))
