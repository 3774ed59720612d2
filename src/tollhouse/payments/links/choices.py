"""The options of forms and filters in the dashboard."""

from tollhouse.accounts.environments import store as projects
from tollhouse.http.lists import all_rows
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.text import Text, Translatable
from tollhouse.platform.database.pool import Pool

PROJECTS_SHOWN = 100


def method_choices(env: MerchantEnv, catalogue: Catalogue) -> list[tuple[str, Translatable]]:
    """The payment methods of an environment: id and name."""
    found = (method for method in catalogue.methods.values() if method.mode == env.mode)
    return [(method.method_id, method.label) for method in found]


def method_labels(catalogue: Catalogue) -> dict[str, Translatable]:
    """Names by method id. A method that has left the catalogue is shown by its id."""
    return {method_id: method.label for method_id, method in catalogue.methods.items()}


def currency_choices(catalogue: Catalogue) -> list[tuple[str, Text]]:
    """The currencies that a link can be paid in."""
    return [(one.code, one.label) for one in catalogue.currencies.values() if one.operations.payments]


async def project_choices(db: Pool, env: MerchantEnv) -> list[tuple[str, str]]:
    """The merchant's projects in an environment: id and name."""
    found = await projects.every(db, env.merchant_id, env.mode, all_rows(PROJECTS_SHOWN))
    return [(str(one.id), one.facts.name) for one in found]
