"""The dashboard's pages of payments: the list, one payment with its receipt, and accepting unapplied money."""

from datetime import datetime
from typing import Any
from uuid import UUID

from starlette.responses import Response

from tollhouse.accounts.environments import payment_settings
from tollhouse.accounts.environments.payment_settings import PaymentSettings
from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person
from tollhouse.accounts.merchants.second_member import NotSecondMember
from tollhouse.http.csv_table import attachment
from tollhouse.http.forms import NO_ERRORS, FormErrors, flash_message, form_errors_of
from tollhouse.http.lists import status_options
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.preferences import language_of
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.http.services import Work
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.methods import ShownFees, fees_of
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import NotFound, ValidationFailed
from tollhouse.kernel.rails.chain import ChainNetwork
from tollhouse.ledger.books.model import BalanceLimitExceeded
from tollhouse.ledger.books.store import list_changes_by_source
from tollhouse.pages.dashboard.go_live import go_live_state
from tollhouse.pages.dashboard.home import home_store
from tollhouse.pages.dashboard.layout import render
from tollhouse.pages.dashboard.payments.payment_timeline import PaymentStory, build_timeline, signed_amount
from tollhouse.pages.dashboard.saved_filter_menu import load_saved_filters
from tollhouse.payments.disputes import store as disputes_store
from tollhouse.payments.disputes.model import dispute_view
from tollhouse.payments.links import store as link_store
from tollhouse.payments.links.views import currency_choices, method_choices, method_labels, project_choices
from tollhouse.payments.receipts.mails import (
    NO_MAIL_FORM,
    ReceiptMailForm,
    is_available,
    load_receipt,
    receipt_file,
    send_from_page,
)
from tollhouse.payments.receipts.store import MAILS_MAX, list_mails
from tollhouse.payments.refunds import chargeback_responses_store
from tollhouse.payments.refunds import review as refund_review
from tollhouse.payments.refunds import store as refund_store
from tollhouse.payments.transactions import payment_list_store, settlement, store, transfers_store, verdict
from tollhouse.payments.transactions.model import CREDITED, REFUND_FAILURES, REFUND_REASONS, Transaction, TransactionStatus
from tollhouse.payments.transactions.payment_list import PaymentRow, PaymentsQuery
from tollhouse.payments.transactions.transfers_store import ObservedTransfer
from tollhouse.payments.transactions.views import transaction_view
from tollhouse.platform.database.pool import Pool
from tollhouse.rails.sandbox.provider import SANDBOX
from tollhouse.transfers.conversions import store as conversions_store
from tollhouse.transfers.conversions.model import PairUnavailable
from tollhouse.transfers.conversions.payments import rate_with_margin
from tollhouse.transfers.conversions.views import ConversionView, conversion_view
from tollhouse.transfers.orders.errors import InvalidState
from tollhouse.webhooks.events.store import SourceEvent, list_by_source
from tollhouse.webhooks.request_log import store as request_store
from tollhouse.webhooks.request_log.retention import kept_since

OPERATIONS = Operations(PAGES)
STATUSES = status_options(TransactionStatus)
MOVES_SHOWN = 200
TO_DECIDE_MAX = 100
CHANGED = "The payment has changed since you opened this page. Review it and try again."
RECEIPT_SENT = "The receipt was sent."
REFUND_REQUESTED = "The refund was requested. Its status changes below when the customer has been paid."
NOTICES = {"sent": RECEIPT_SENT, "refund": REFUND_REQUESTED}
APPROVED_BEFORE = "This refund does not wait for a second member any more. Nothing was changed."
NOT_NOW = "There is no money left to accept."


@OPERATIONS.add("GET", "/{mode}/payments", guard=signed_in_page("read"))
async def payments(request: Request, caller: Person, env: MerchantEnv, query: PaymentsQuery) -> Response:
    """List payments, newest first."""
    db = request.services.db
    form_errors, found = NO_ERRORS, list[PaymentRow]()
    try:
        filters = query.to_filter(caller.zone, request.services.catalogue.currencies)
        found = await payment_list_store.list_payments(db, env, filters, request.now, query.before, query.fetch)
    except ValidationFailed as error:
        form_errors = form_errors_of(error, query.form_values)
    shown, more = query.cut(found)
    path = f"/{env.mode}/payments"
    return render(
        request,
        caller,
        "payments/payments",
        here="payments",
        payments=shown,
        query=query,
        saved=await load_saved_filters(request, caller, env, "payments", query),
        typed=query.form_values,
        form_errors=form_errors,
        statuses=STATUSES,
        methods=method_choices(env, request.services.catalogue),
        currencies=currency_choices(request.services.catalogue),
        projects=await project_choices(db, env),
        going_live=await go_live_state(db, env, caller),
        disputes_to_respond=await disputes_store.count_to_respond(db, env, request.now, TO_DECIDE_MAX),
        to_decide=await home_store.count_to_decide(db, env, TO_DECIDE_MAX),
        names=method_labels(request.services.catalogue),
        export=f"{path}/export{query.address(None)}",
        page_links=query.links(path, shown, more=more),
        amount=request.services.catalogue.format_amount,
    )


@OPERATIONS.add("GET", "/{mode}/payments/{transaction_id}", guard=signed_in_page("read"))
async def payment(request: Request, caller: Person, env: MerchantEnv, transaction_id: UUID) -> Response:
    """Show one payment."""
    return await render_payment(request, caller, env, transaction_id)


@OPERATIONS.add(
    "POST", "/{mode}/payments/{transaction_id}/accept", guard=signed_in_page("payments"), recent_authentication="live"
)
async def accept(request: Request, caller: Person, env: MerchantEnv, transaction_id: UUID) -> Response:
    """Accept unapplied money if the payment has not changed since it was shown. A repeated submit changes nothing."""
    seen = request.form().one("seen")

    async def take(work: Work) -> str:
        current = await store.lock(work.tx, env, transaction_id)
        if current.status in CREDITED and current.unapplied_minor == 0:
            return ""
        if str(current.version) != seen:
            return CHANGED
        await settlement.accept(work, env, transaction_id)
        return ""

    try:
        message = await request.transact(take)
    except InvalidState:
        message = NOT_NOW
    except (BalanceLimitExceeded, PairUnavailable) as error:
        return await render_payment(request, caller, env, transaction_id, FormErrors(error.message, status=error.status))
    if message:
        return await render_payment(request, caller, env, transaction_id, FormErrors(message, status=409))
    return see_other(f"/{env.mode}/payments/{transaction_id}")


@OPERATIONS.add("POST", "/{mode}/refunds/{refund_id}/approve", guard=signed_in_page("money"), recent_authentication="live")
async def approve_refund(request: Request, caller: Person, env: MerchantEnv, refund_id: UUID) -> Response:
    """Approve a refund to another account than the payer's as the second member."""
    found = await refund_store.get(request.services.db, env, refund_id)
    try:
        await request.transact(lambda work: refund_review.approve_as_member(work, caller, refund_id))
    except (NotSecondMember, InvalidState) as error:
        message = APPROVED_BEFORE if isinstance(error, InvalidState) else error.message
        return await render_payment(request, caller, env, found.transaction_id, FormErrors(message, status=error.status))
    return see_other(f"/{env.mode}/payments/{found.transaction_id}")


async def render_payment(
    request: Request,
    person: Person,
    env: MerchantEnv,
    transaction_id: UUID,
    form_errors: FormErrors = NO_ERRORS,
    mail_form: ReceiptMailForm = NO_MAIL_FORM,
) -> Response:
    """The page of one payment, with the errors of the form that was posted."""
    story = await _story(request, env, transaction_id)
    found = story.payment
    chargeback_id = None if found.chargeback is None else found.chargeback.id
    db = request.services.db
    dispute = None if chargeback_id is None else await disputes_store.get(db, env, chargeback_id, request.now)
    notes = [] if chargeback_id is None else await chargeback_responses_store.list_notes(db, chargeback_id)
    view = transaction_view(found, request.now, request.services.catalogue)
    played = found.rail == SANDBOX.name and not env.livemode
    return render(
        request,
        person,
        "payments/payment",
        max(form_errors.status, mail_form.errors.status),
        here="payments",
        payment=view,
        conversions=await _conversions(request, env, found),
        rate=_rate(found, request.services.catalogue),
        link=story.link,
        **await _receipt_values(request, env, transaction_id, mail_form),
        **_amounts(found, await payment_settings.of(db, env), request.services.catalogue),
        is_acceptable=found.is_acceptable,
        waits=request.services.catalogue.format_amount(found.unapplied_minor, found.currency),
        simulator=f"/pay/{story.link.token}?payment={found.id}" if played else "",
        reference=found.instructions.reference,
        transfers=await _transfers(request, found),
        method=method_labels(request.services.catalogue).get(found.method_id, found.method_id),
        project=dict(await project_choices(request.services.db, env)).get(str(found.project_id), ""),
        reasons=REFUND_REASONS,
        refund_failures=REFUND_FAILURES,
        unsent={one.id: await refund_store.get(db, env, one.id) for one in found.refunds if one.status == "pending"},
        dispute=None if dispute is None else dispute_view(dispute, request.services.catalogue),
        notes=notes,
        moves=[
            (move, signed_amount(move.delta_minor, move.currency, request.services.catalogue))
            for move in reversed(story.moves)
        ],
        timeline_items=build_timeline(story, request.services.catalogue),
        fees=_fees(found, request.services.catalogue),
        message=form_errors.message or mail_form.errors.message,
    )


def _amounts(found: Transaction, settings: PaymentSettings, catalogue: Catalogue) -> dict[str, Any]:
    """What was received or is on its way, what is missing, and what is or went back; empty where that is nothing."""
    seen_minor = found.received_minor + found.detected_minor
    is_enough = seen_minor >= verdict.sufficient_minor(found.amount_minor, settings)
    minors = {
        "seen": seen_minor,
        "missing": 0 if is_enough else found.amount_minor - seen_minor,
        "detected": found.detected_minor,
        "returning": found.returning_minor,
        "charged_back": found.charged_back_minor,
    }
    return {name: catalogue.format_amount(minor, found.currency) if minor else "" for name, minor in minors.items()}


async def _transfers(request: Request, found: Transaction) -> list[tuple[ObservedTransfer, str, str]]:
    """The transfers of the payment, with their amounts and the addresses where people look them up."""
    format_amount = request.services.catalogue.format_amount
    return [
        (transfer, format_amount(transfer.amount_minor, found.currency), _explorer_link(transfer, found, request))
        for transfer in await transfers_store.list_transfers(request.services.db, found.id)
    ]


def _explorer_link(transfer: ObservedTransfer, found: Transaction, request: Request) -> str:
    """Where people look the transaction of a network up; empty where nobody has set that."""
    provider = request.services.rails.find(found.rail, found.env.mode)
    address = provider.explorer_url if isinstance(provider, ChainNetwork) else None
    return address.replace("{tx}", transfer.tx_hash) if address and transfer.tx_hash else ""


async def _receipt_values(
    request: Request, env: MerchantEnv, transaction_id: UUID, mail_form: ReceiptMailForm
) -> dict[str, Any]:
    """The receipt with its emails, and the form that sends it if emails arrive."""
    db = request.services.db
    receipt = await load_receipt(db, env, transaction_id, request.now)
    return {
        "receipt": receipt,
        "receipt_mails": [] if receipt is None else await list_mails(db, transaction_id),
        "mail_form": mail_form if is_available(request.services) else None,
        "mails_max": MAILS_MAX,
        "notice": NOTICES.get(flash_message(request.query), ""),
    }


async def _conversions(request: Request, env: MerchantEnv, found: Transaction) -> list[ConversionView]:
    """The conversions of a payment in another currency, oldest first."""
    if found.price is None:
        return []
    made = await conversions_store.list_of_transaction(request.services.db, env, found.id)
    return [conversion_view(conversion, request.services.catalogue) for conversion in made]


def _rate(found: Transaction, catalogue: Catalogue) -> str:
    return "" if found.price is None else rate_with_margin(found.price, found.currency, found.amount_minor, catalogue)


def _fees(found: Transaction, catalogue: Catalogue) -> ShownFees | None:
    """How the fee was calculated; None if the fees have changed since, or there was none."""
    method = catalogue.methods.get(found.method_id)
    if method is None or not found.fee_minor or method.fees.of(found.credited_minor) != found.fee_minor:
        return None
    return fees_of(method.fees, catalogue.currencies[found.currency])


async def _story(request: Request, env: MerchantEnv, transaction_id: UUID) -> PaymentStory:
    db = request.services.db
    found = await store.get(db, env, transaction_id)
    link = await link_store.get(db, env, found.payment_link_id)
    sources = [("transaction", found.id), *(("refund", refund.id) for refund in found.refunds)]
    if found.chargeback is not None:
        sources.append(("chargeback", found.chargeback.id))
    moves = await list_changes_by_source(db, env, sources, MOVES_SHOWN)
    times = [link.created_at, *(step.at for step in found.timeline), *(move.created_at for move in moves)]
    ids = [link.id, *(source_id for _, source_id in sources)]
    causes = await request_store.list_causes(db, env, ids, times, kept_since(request.services, request.now))
    return PaymentStory(found, link, moves, await _events(db, env, found), causes)


async def _events(db: Pool, env: MerchantEnv, found: Transaction) -> list[SourceEvent]:
    moments: set[datetime] = {step.at for step in found.timeline}
    return await list_by_source(db, env, "transaction", found.id, sorted(moments))


@OPERATIONS.add("GET", "/{mode}/payments/{transaction_id}/receipt.pdf", guard=signed_in_page("read"))
async def receipt_pdf(request: Request, env: MerchantEnv, transaction_id: UUID) -> Response:
    """The receipt as a PDF file, in the language of the dashboard."""
    receipt = await load_receipt(request.services.db, env, transaction_id, request.now)
    if receipt is None:
        raise NotFound
    made = await receipt_file(receipt, language_of(request), request.services.catalogue)
    return Response(made, 200, attachment(receipt.file_name), "application/pdf")


@OPERATIONS.add("POST", "/{mode}/payments/{transaction_id}/receipt/email", guard=signed_in_page("payments"))
async def send_receipt(request: Request, caller: Person, env: MerchantEnv, transaction_id: UUID) -> Response:
    """Send the receipt to an address."""
    receipt = await load_receipt(request.services.db, env, transaction_id, request.now)
    if receipt is None or not is_available(request.services):
        raise NotFound
    email = request.form().one("email") or ""
    try:
        await send_from_page(request, receipt, email, "merchant")
    except ValidationFailed as error:
        mail_form = ReceiptMailForm(email, form_errors_of(error, ("email",)))
        return await render_payment(request, caller, env, transaction_id, mail_form=mail_form)
    return see_other(f"/{env.mode}/payments/{transaction_id}?done=sent")
