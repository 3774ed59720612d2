"""The layout of the operators' pages, the notice about the last action, and the reason that a form sends."""

from typing import Any
from uuid import UUID

from msgspec import Struct
from starlette.responses import Response

from tollhouse.accounts.approvals.model import REASON_RULE, is_reason
from tollhouse.accounts.identity.model import Operator
from tollhouse.http.request import Request
from tollhouse.http.responses import page
from tollhouse.kernel import messages
from tollhouse.kernel.ids import parse_id
from tollhouse.kernel.text import Translatable
from tollhouse.pages.console import overview_store, store
from tollhouse.pages.console.model import HistoryEntry

ROOT = "/operator"


class ActionQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`action`: the id of the action to confirm in a notice."""

    action: str = ""


async def render(
    request: Request, caller: Operator, template: str, status: int = 200, *, here: str, **values: Any
) -> Response:
    """A page of the console. `here` is its entry in the menu, which counts what waits for a decision."""
    to_do = await overview_store.to_do(request.services.db)
    return page(request, f"console/{template}.html", status, operator=caller, here=here, to_do=to_do, **values)


async def find_action(request: Request, action_id: str, subject_id: UUID) -> list[HistoryEntry]:
    """The action with this id; empty if it had another subject."""
    parsed = parse_id(action_id)
    found = None if parsed is None else await store.action(request.services.db, parsed)
    return [] if found is None or found.action.subject_id != subject_id else [found]


async def find_resumption(request: Request, action_id: str) -> list[HistoryEntry]:
    """The action with this id; empty if it did not resume payouts."""
    parsed = parse_id(action_id)
    found = None if parsed is None else await store.action(request.services.db, parsed)
    return [] if found is None or found.action.action != "payouts_resumed" else [found]


def read_payout_and_reason(request: Request, field: str) -> tuple[UUID | None, str, dict[str, Translatable]]:
    """The payout that a form refuses, by the name of its field, and the reason; and the error messages of both."""
    payout_id = parse_id(request.form().one(field) or "")
    reason, error = read_reason(request)
    field_errors: dict[str, Translatable] = {"reason": error} if error else {}
    if payout_id is None:
        field_errors[field] = messages.A_CHOICE
    return payout_id, reason, field_errors


def read_reason(request: Request, field: str = "reason") -> tuple[str, Translatable]:
    """The reason in a form, and its error message, which is empty if the reason is valid."""
    reason = (request.form().one(field) or "").strip()
    return reason, "" if is_reason(reason) else REASON_RULE
