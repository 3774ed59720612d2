"""Dashboard pages of saved recipients: list, add, delete, and the rule that withdrawals go only to them."""

import contextlib
from uuid import UUID

from msgspec import Struct
from starlette.responses import Response

from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person
from tollhouse.http.forms import NO_ERRORS, FormErrors, form_errors_of
from tollhouse.http.lists import LongPageQuery
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.http.schema_fields import SchemaField, form_fields, read_values, to_object
from tollhouse.kernel.catalogue.provider_fields import MEMBER
from tollhouse.kernel.catalogue.withdrawal_methods import WithdrawalMethod
from tollhouse.kernel.clock import Timestamp, stamp, stamp_or_none
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, NotFound
from tollhouse.kernel.text import Translatable
from tollhouse.pages.dashboard.balances.new_withdrawal import RECEIVERS, method_of
from tollhouse.pages.dashboard.balances.recipients import OF_THE_TRANSFER
from tollhouse.pages.dashboard.layout import render
from tollhouse.transfers.gate import recipients_store
from tollhouse.transfers.gate.recipients_store import RecipientsQuery
from tollhouse.transfers.orders.store import clock_offset
from tollhouse.transfers.withdrawals import model, recipients
from tollhouse.transfers.withdrawals.model import RecipientExists, mask
from tollhouse.transfers.withdrawals.recipients import MAY_BE_DOWN, NewRecipient, NewWithdrawalSettings

OPERATIONS = Operations(PAGES)
FIELDS = ("name", "receiver")
NOTICES = {
    "added": "Recipient added.",
    "deleted": "Recipient deleted.",
    "on": "Withdrawals now go only to saved recipients.",
    "off": "The limit to saved recipients will end. Until then you can turn it on again.",
}
ROOT = "/{mode}/withdrawals/recipients"


class RecipientsPageQuery(LongPageQuery, frozen=True, forbid_unknown_fields=True):
    """The page of the list. `done` names the action that was just completed."""

    done: str = ""


class RecipientRow(Struct, frozen=True):
    """A row of the list. `active_at`: it cannot be paid before."""

    id: UUID
    name: str
    account: str
    method_id: str
    method: Translatable
    active_at: Timestamp | None
    created_at: Timestamp


@OPERATIONS.add("GET", ROOT, guard=signed_in_page("read"))
async def list_page(request: Request, caller: Person, env: MerchantEnv, query: RecipientsPageQuery) -> Response:
    """The saved recipients, newest first, and the rule."""
    db, catalogue = request.services.db, request.services.catalogue
    present = request.now + await clock_offset(db, env)
    found, more = query.cut(await recipients_store.list_recipients(db, env, RecipientsQuery(), query.window))
    rows = list[RecipientRow]()
    for recipient in found:
        method = catalogue.withdrawal_methods.get(recipient.method_id)
        account = recipient.receiver if method is None else mask(recipient.receiver, method.receiver_type)
        label = recipient.method_id if method is None else method.label
        active_at = stamp(recipient.active_at) if recipient.active_at > present else None
        rows.append(
            RecipientRow(
                recipient.id, recipient.name, account, recipient.method_id, label, active_at, stamp(recipient.created_at)
            )
        )
    rule = (await recipients_store.get_rule(db, env)).at(present)
    return render(
        request,
        caller,
        "withdrawals/recipients",
        here="withdrawals",
        recipients=rows,
        saved_only=rule.saved_recipients_only,
        turns_off_at=stamp_or_none(rule.turns_off_at),
        cooling_s=request.services.settings.recipient_cooling,
        methods=_methods(request, env),
        notice=NOTICES.get(query.done, ""),
        page_links=query.links(found, more=more),
    )


@OPERATIONS.add("GET", f"{ROOT}/new/{{method_id}}", guard=signed_in_page("money"), recent_authentication="live")
async def fill_in(request: Request, caller: Person, env: MerchantEnv, method_id: str) -> Response:
    """The form of a new recipient."""
    method = method_of(method_id, env, request.services.catalogue)
    values = dict.fromkeys((*FIELDS, *(field.name for field in _fields(method))), "")
    return _form(request, caller, method, values)


@OPERATIONS.add("POST", f"{ROOT}/new/{{method_id}}", guard=signed_in_page("money"), recent_authentication="live")
async def add(request: Request, caller: Person, env: MerchantEnv, method_id: str) -> Response:
    """Add a recipient. A form that is sent twice adds one."""
    posted = request.form()
    method = method_of(method_id, env, request.services.catalogue)
    values = {name: posted.one(name) or "" for name in FIELDS} | read_values(_fields(method), posted)
    new = NewRecipient(
        name=values["name"],
        method_id=method.method_id,
        receiver=values["receiver"],
        provider_fields=to_object(_fields(method), values),
    )
    try:
        await request.transact(lambda work: recipients.add(work, env, new))
    except ApiError as error:
        at = "receiver" if isinstance(error, RecipientExists) else ""
        return _form(request, caller, method, values, form_errors_of(error, values, at))
    return see_other(f"/{env.mode}/withdrawals/recipients?done=added")


@OPERATIONS.add("POST", f"{ROOT}/{{recipient_id}}/delete", guard=signed_in_page("money"), recent_authentication="live")
async def delete(request: Request, env: MerchantEnv, recipient_id: UUID) -> Response:
    """Delete a recipient. A repeated request succeeds."""
    with contextlib.suppress(NotFound):
        await request.transact(lambda work: recipients.delete(work, env, recipient_id))
    return see_other(f"/{env.mode}/withdrawals/recipients?done=deleted")


@OPERATIONS.add("POST", f"{ROOT}/only-saved", guard=signed_in_page("money"), recent_authentication="live")
async def save_rule(request: Request, env: MerchantEnv) -> Response:
    """Turn the rule on, or begin to turn it off."""
    is_on = request.form().one("only_saved") == "yes"
    await request.transact(lambda work: recipients.save_settings(work, env, NewWithdrawalSettings(is_on)))
    return see_other(f"/{env.mode}/withdrawals/recipients?done={'on' if is_on else 'off'}")


def _form(
    request: Request, person: Person, method: WithdrawalMethod, values: dict[str, str], form_errors: FormErrors = NO_ERRORS
) -> Response:
    label, hint = RECEIVERS[method.receiver_type]
    return render(
        request,
        person,
        "withdrawals/new_recipient",
        here="withdrawals",
        method=method,
        receiver_label=label,
        receiver_hint=hint,
        required=[field for field in _fields(method) if field.required],
        optional=[field for field in _fields(method) if not field.required],
        cooling_s=request.services.settings.recipient_cooling,
        values=values,
        form_errors=form_errors,
    )


def _fields(method: WithdrawalMethod) -> list[SchemaField]:
    return [field for field in form_fields(method.provider_fields, MEMBER) if field.name not in OF_THE_TRANSFER]


def _methods(request: Request, env: MerchantEnv) -> list[WithdrawalMethod]:
    """The methods whose recipients can be saved."""
    rails, catalogue = request.services.rails, request.services.catalogue
    listed = model.list_methods(env.mode, catalogue)
    return [method for method in listed if model.unavailable_reason(method, env.mode, rails, catalogue) in MAY_BE_DOWN]
