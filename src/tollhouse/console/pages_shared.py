"""What every page of the operators has: who sits there, where in the menu it is, what was just done, and why."""

from typing import Any
from uuid import UUID

from msgspec import Struct
from starlette.responses import Response

from tollhouse.console import store
from tollhouse.console.model import REASON_RULE, ListedOperatorAction, is_reason
from tollhouse.http.request import Request
from tollhouse.http.responses import page
from tollhouse.identity.model import Operator
from tollhouse.kernel.ids import parse_id

ROOT = "/operator"


class DoneQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`action`: the id of what was just done, to be pointed at."""

    action: str = ""


def show(request: Request, caller: Operator, template: str, status: int = 200, *, here: str, **facts: Any) -> Response:
    """A page of the desk. `here` is its entry in the menu."""
    return page(request, f"console/{template}.html", status, operator=caller, here=here, **facts)


async def just_done(request: Request, done: str, subject_id: UUID) -> list[ListedOperatorAction]:
    """The deed of the id `done`; none where it was about something else."""
    action_id = parse_id(done)
    found = None if action_id is None else await store.action(request.services.db, action_id)
    return [] if found is None or found.action.subject_id != subject_id else [found]


def reason_in(request: Request, field: str = "reason") -> tuple[str, str]:
    """The reason that a form gives, and what is wrong with it."""
    reason = (request.form().one(field) or "").strip()
    return reason, "" if is_reason(reason) else REASON_RULE
