"""What the forms and filters of the dashboard offer to choose from."""

from tollhouse.catalogue import store as projects
from tollhouse.catalogue.currencies import CURRENCIES
from tollhouse.catalogue.methods import METHODS
from tollhouse.http.paging import whole
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.platform.db import Pool
from tollhouse.rails.configured import SANDBOX

PROJECTS_SHOWN = 100


def method_choices(env: MerchantEnv) -> list[tuple[str, str]]:
    """The ways to pay that there are in an environment, with their names."""
    found = (method for method in METHODS.values() if (method.rail == SANDBOX.name) != env.livemode)
    return [(method.method_id, method.name) for method in found]


def method_names() -> dict[str, str]:
    """The methods' names. One that has left the catalogue is shown by its id."""
    return {method_id: method.name for method_id, method in METHODS.items()}


def currency_choices() -> list[tuple[str, str]]:
    """The currencies that links can be paid in."""
    return [(one.code, f"{one.code}, {one.name}") for one in CURRENCIES.values() if one.operations.payments]


async def project_choices(db: Pool, env: MerchantEnv) -> list[tuple[str, str]]:
    """The merchant's projects in an environment."""
    found = await projects.every(db, env.merchant_id, env.mode, whole(PROJECTS_SHOWN))
    return [(str(one.id), one.facts.name) for one in found]
