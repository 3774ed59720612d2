"""The dashboard's pages of disputes: the list, one dispute with the form of its evidence, submitting and accepting.

The form and the confirmation name the draft that they show by the time when it was saved, so that nobody replaces or
submits a draft that they have not seen.
"""

from datetime import datetime
from typing import Literal
from uuid import UUID

import msgspec
from starlette.responses import Response

from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person
from tollhouse.http.forms import NO_ERRORS, Form, FormErrors, flash_message, form_errors_of
from tollhouse.http.lists import LongPageQuery, status_options
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.http.services import Work
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import NotFound, ValidationFailed
from tollhouse.kernel.limits import EVIDENCE_BODY_BYTES_MAX
from tollhouse.pages.dashboard.layout import render
from tollhouse.payments.disputes import actions, store
from tollhouse.payments.disputes.actions import MEMBERS, NewEvidence
from tollhouse.payments.disputes.model import Dispute, DisputeStatus, dispute_view
from tollhouse.payments.disputes.store import DisputeFilter
from tollhouse.payments.links import store as link_store
from tollhouse.payments.links.views import method_labels
from tollhouse.payments.refunds import chargeback_responses_store as responses
from tollhouse.payments.refunds.chargeback_responses_store import list_notes
from tollhouse.payments.transactions import store as transaction_store
from tollhouse.payments.transactions.views import refund_view
from tollhouse.rails.sandbox.provider import SANDBOX
from tollhouse.transfers.orders.errors import InvalidState

OPERATIONS = Operations(PAGES)
ROOT = "/{mode}/disputes"
STATUSES = status_options(DisputeStatus)
TO_RESPOND_MAX = 100
SINGLE_LINES = frozenset(
    {
        *("customer_name", "customer_email_address", "customer_purchase_ip"),
        *("shipping_carrier", "shipping_date", "shipping_tracking_number", "service_date"),
    }
)
"""The texts that have one line, usually."""
NOTICES = {
    "saved": "Draft saved. It is not submitted yet.",
    "submitted": "Evidence submitted.",
    "accepted": "Dispute accepted.",
}
DRAFT_CHANGED = "Somebody else has changed the evidence since you opened this page. Compare it before you save yours."
SUBMITTED_DRAFT_CHANGED = "The evidence has changed since you opened this page. Review it again before you submit it."
CLOSED = "This dispute can no longer be responded to. Your texts were not saved."
NOTHING_DONE = "This dispute can no longer be responded to."
NO_EVIDENCE = "Enter at least one text before you submit the evidence."


class DraftChanged(Exception):
    """The draft of the evidence has changed since it was shown."""


class DisputesPageQuery(LongPageQuery, frozen=True, forbid_unknown_fields=True):
    """`?status=&page=` of the list. Empty is no filter."""

    status: Literal["", "needs_response", "under_review", "won", "lost", "accepted", "expired"] = ""


@OPERATIONS.add("GET", ROOT, guard=signed_in_page("read"))
async def list_page(request: Request, caller: Person, env: MerchantEnv, query: DisputesPageQuery) -> Response:
    """The list of disputes, newest first."""
    services = request.services
    filters = DisputeFilter(status=[query.status] if query.status else None)
    found, more = query.cut(await store.list_disputes(services.db, env, filters, request.now, query.window))
    return render(
        request,
        caller,
        "disputes/list",
        here="payments",
        disputes=[dispute_view(dispute, services.catalogue) for dispute in found],
        query=query,
        statuses=STATUSES,
        to_respond=await store.count_to_respond(services.db, env, request.now, TO_RESPOND_MAX),
        names=method_labels(services.catalogue),
        page_links=query.links([store.position_of(dispute) for dispute in found], more=more),
    )


@OPERATIONS.add("GET", f"{ROOT}/{{dispute_id}}", guard=signed_in_page("read"))
async def details(request: Request, caller: Person, env: MerchantEnv, dispute_id: UUID) -> Response:
    """One dispute: what it is about, and the evidence, with its form while it can be changed."""
    return await _dispute_page(request, caller, env, dispute_id)


@OPERATIONS.add(
    "POST", f"{ROOT}/{{dispute_id}}/evidence", guard=signed_in_page("payments"), body_bytes_max=EVIDENCE_BODY_BYTES_MAX
)
async def save_evidence(request: Request, caller: Person, env: MerchantEnv, dispute_id: UUID) -> Response:
    """Save the draft. Leads to its confirmation if it is to be submitted."""
    form = request.form()
    typed, seen, submits = _typed(form), form.one("seen") or "", form.one("next") == "submit"
    evidence = NewEvidence(**{name: text for name, text in typed.items() if text})

    async def save(work: Work) -> None:
        await _require_draft(work, env, dispute_id, seen)
        await actions.save_evidence(work, env, dispute_id, evidence)

    try:
        if submits and not any(typed.values()):
            wrong = FormErrors(NO_EVIDENCE, status=422)
        else:
            await request.transact(save)
            path = f"/{env.mode}/disputes/{dispute_id}"
            return see_other(f"{path}/submit" if submits else f"{path}?done=saved")
    except DraftChanged:
        wrong = FormErrors(DRAFT_CHANGED, status=409)
    except InvalidState:
        wrong = FormErrors(CLOSED, status=409)
    except ValidationFailed as error:
        wrong = form_errors_of(error, MEMBERS)
    return await _dispute_page(request, caller, env, dispute_id, wrong, typed)


@OPERATIONS.add("GET", f"{ROOT}/{{dispute_id}}/submit", guard=signed_in_page("payments"), recent_authentication="live")
async def review(request: Request, caller: Person, env: MerchantEnv, dispute_id: UUID) -> Response:
    """The saved evidence, to be submitted."""
    return await _review(request, caller, env, dispute_id)


@OPERATIONS.add("POST", f"{ROOT}/{{dispute_id}}/submit", guard=signed_in_page("payments"), recent_authentication="live")
async def submit(request: Request, caller: Person, env: MerchantEnv, dispute_id: UUID) -> Response:
    """Submit the evidence as it was shown. A repeated submit changes nothing."""
    seen = request.form().one("seen") or ""

    async def respond(work: Work) -> None:
        await _require_draft(work, env, dispute_id, seen)
        await actions.submit(work, env, dispute_id)

    try:
        await request.transact(respond)
    except (DraftChanged, ValidationFailed):
        return await _review(request, caller, env, dispute_id, SUBMITTED_DRAFT_CHANGED)
    except InvalidState:
        return await _responded(request, caller, env, dispute_id, "submitted")
    return see_other(f"/{env.mode}/disputes/{dispute_id}?done=submitted")


@OPERATIONS.add("GET", f"{ROOT}/{{dispute_id}}/accept", guard=signed_in_page("payments"), recent_authentication="live")
async def confirm_acceptance(request: Request, caller: Person, env: MerchantEnv, dispute_id: UUID) -> Response:
    """Ask whether the dispute is to be accepted."""
    found = await _get(request, env, dispute_id)
    if found.status != "needs_response":
        return see_other(f"/{env.mode}/disputes/{dispute_id}")
    view = dispute_view(found, request.services.catalogue)
    return render(request, caller, "disputes/accept", here="payments", dispute=view)


@OPERATIONS.add("POST", f"{ROOT}/{{dispute_id}}/accept", guard=signed_in_page("payments"), recent_authentication="live")
async def accept(request: Request, caller: Person, env: MerchantEnv, dispute_id: UUID) -> Response:
    """Accept the dispute. A repeated request changes nothing."""
    try:
        await request.transact(lambda work: actions.accept(work, env, dispute_id))
    except InvalidState:
        return await _responded(request, caller, env, dispute_id, "accepted")
    return see_other(f"/{env.mode}/disputes/{dispute_id}?done=accepted")


async def _require_draft(work: Work, env: MerchantEnv, dispute_id: UUID, seen: str) -> None:
    """Lock the dispute. Raises `NotFound`, and `DraftChanged` if its draft is not the one that was seen."""
    found = await responses.lock_evidence(work.tx, env, dispute_id)
    if found is None:
        raise NotFound
    if _version_of(found.evidence_saved_at) != seen:
        raise DraftChanged


async def _responded(request: Request, person: Person, env: MerchantEnv, dispute_id: UUID, response: str) -> Response:
    """The answer to a response that came too late: as if it were the first one, if that was the same."""
    if (await _get(request, env, dispute_id)).response == response:
        return see_other(f"/{env.mode}/disputes/{dispute_id}?done={response}")
    return await _dispute_page(request, person, env, dispute_id, FormErrors(NOTHING_DONE, status=409))


async def _review(request: Request, person: Person, env: MerchantEnv, dispute_id: UUID, message: str = "") -> Response:
    found = await _get(request, env, dispute_id)
    if found.status != "needs_response" or not found.has_evidence:
        return see_other(f"/{env.mode}/disputes/{dispute_id}")
    return render(
        request,
        person,
        "disputes/submit",
        409 if message else 200,
        here="payments",
        dispute=dispute_view(found, request.services.catalogue),
        evidence=_texts_of(found),
        seen=_version_of(found.evidence_saved_at),
        message=message,
    )


async def _dispute_page(
    request: Request,
    person: Person,
    env: MerchantEnv,
    dispute_id: UUID,
    form_errors: FormErrors = NO_ERRORS,
    typed: dict[str, str] | None = None,
) -> Response:
    """The page of one dispute. `typed`: the texts that were posted and not saved."""
    services = request.services
    found = await _get(request, env, dispute_id)
    saved = _texts_of(found)
    link = await link_store.get(services.db, env, found.payment_link_id)
    payment = await transaction_store.get(services.db, env, found.transaction_id)
    refunds = [refund for refund in payment.refunds if refund.status != "failed"]
    return render(
        request,
        person,
        "disputes/one",
        here="payments",
        dispute=dispute_view(found, services.catalogue),
        link=link,
        method=method_labels(services.catalogue).get(found.method_id, found.method_id),
        evidence=saved,
        refunds=[refund_view(refund, env, services.catalogue) for refund in refunds],
        notes=await list_notes(services.db, dispute_id),
        typed=dict.fromkeys(MEMBERS, "") | (saved if typed is None else typed),
        unsaved=[] if typed is None else [(name, text) for name, text in typed.items() if text],
        single_lines=SINGLE_LINES,
        seen=_version_of(found.evidence_saved_at),
        is_draft_saved=found.evidence_saved_at is not None,
        is_of_sandbox=found.rail == SANDBOX.name,
        form_errors=form_errors,
        notice=NOTICES.get(flash_message(request.query), ""),
    )


async def _get(request: Request, env: MerchantEnv, dispute_id: UUID) -> Dispute:
    found = await store.get(request.services.db, env, dispute_id, request.now)
    if found is None:
        raise NotFound
    return found


def _typed(form: Form) -> dict[str, str]:
    """The texts of the form, with the line breaks of Unix."""
    return {name: (form.one(name) or "").replace("\r\n", "\n").strip() for name in MEMBERS}


def _texts_of(dispute: Dispute) -> dict[str, str]:
    """The members of the evidence that have a text."""
    return {name: text for name, text in msgspec.structs.asdict(dispute.evidence).items() if text is not None}


def _version_of(saved_at: datetime | None) -> str:
    """What a form has of the draft that it shows."""
    return "" if saved_at is None else saved_at.isoformat()
