"""What every page of the operators has: who sits there, where in the menu it is, what was just done, and why."""

from typing import Any
from uuid import UUID

from msgspec import Struct
from starlette.responses import Response

from tollhouse.callers.model import Operator
from tollhouse.kernel.ids import parse_id
from tollhouse.operator import store
from tollhouse.operator.model import REASON_RULE, ListedDeed, is_reason
from tollhouse.web.answers import page
from tollhouse.web.ask import Ask

ROOT = "/operator"


class DoneQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`deed`: the id of what was just done, to be pointed at."""

    deed: str = ""


def show(ask: Ask, caller: Operator, template: str, status: int = 200, *, here: str, **facts: Any) -> Response:
    """A page of the desk. `here` is its entry in the menu."""
    return page(ask, f"operator/{template}.html", status, operator=caller, here=here, **facts)


async def just_done(ask: Ask, done: str, subject_id: UUID) -> list[ListedDeed]:
    """The deed of the id `done`; none where it was about something else."""
    deed_id = parse_id(done)
    found = None if deed_id is None else await store.deed(ask.house.db, deed_id)
    return [] if found is None or found.deed.subject_id != subject_id else [found]


def reason_in(ask: Ask, field: str = "reason") -> tuple[str, str]:
    """The reason that a form gives, and what is wrong with it."""
    reason = (ask.form().one(field) or "").strip()
    return reason, "" if is_reason(reason) else REASON_RULE
