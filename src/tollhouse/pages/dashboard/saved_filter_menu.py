"""The saved filters of a list, as its page shows them."""

from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from msgspec import Struct

from tollhouse.accounts.identity.model import Person
from tollhouse.http.bodies import decode_query
from tollhouse.http.lists import filters_of
from tollhouse.http.request import Request
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError
from tollhouse.pages.dashboard import saved_filters_store as store


class SavedFilterEntry(Struct, frozen=True):
    """A saved filter. `address` is empty if the list no longer has such filters."""

    id: UUID
    name: str
    address: str
    is_current: bool


class SavedFilterMenu(Struct, frozen=True):
    """The saved filters of a list, and the filters that can be saved now as a query string; empty if there are none."""

    list_name: str
    entries: list[SavedFilterEntry]
    current: str

    @property
    def name(self) -> str:
        """The name under which the present filters are saved; empty if they are not."""
        return next((entry.name for entry in self.entries if entry.is_current), "")


async def load_saved_filters(
    request: Request, person: Person, env: MerchantEnv, list_name: str, query: Struct
) -> SavedFilterMenu:
    """The person's saved filters of this list, whose path begins with its name."""
    current = _filters(query)
    entries: list[SavedFilterEntry] = []
    for saved in await store.list_filters(request.services.db, person.user_id, env.mode, list_name):
        filters = _decode(saved.query, type(query))
        address = _address(env, list_name, filters)
        entries.append(SavedFilterEntry(saved.id, saved.name, address, bool(current) and filters == current))
    return SavedFilterMenu(list_name, entries, "" if person.suspended else urlencode(current))


def address_of(env: MerchantEnv, saved: store.SavedFilter, kind: type[Struct]) -> str:
    """The path of the list with these filters; empty if the list, whose queries are of this type, no longer has them."""
    return _address(env, saved.list_name, _decode(saved.query, kind))


def _address(env: MerchantEnv, list_name: str, filters: dict[str, Any]) -> str:
    return f"/{env.mode}/{list_name}?{urlencode(filters)}" if filters else ""


def _decode(query: str, kind: type[Struct]) -> dict[str, Any]:
    """The filters of a query string; none if the list does not have them any more."""
    try:
        return _filters(decode_query(query.encode(), kind))
    except ApiError:
        return {}


def _filters(query: Struct) -> dict[str, Any]:
    return {name: value for name, value in filters_of(query).items() if name != "limit"}
