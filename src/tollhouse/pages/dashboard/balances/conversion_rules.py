"""The dashboard page of conversion rules: create, pause, resume and delete."""

import contextlib
import re
from uuid import UUID

from msgspec import Struct
from starlette.responses import Response

from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person
from tollhouse.http.bodies import decode_body
from tollhouse.http.forms import NO_ERRORS, Form, FormErrors, form_errors_of
from tollhouse.http.lists import all_rows
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import see_other
from tollhouse.kernel import messages
from tollhouse.kernel.catalogue.catalogue import Catalogue
from tollhouse.kernel.catalogue.typed_amounts import amount_texts, read_amount
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, FieldError, InvalidRequest, NotFound, ValidationFailed
from tollhouse.pages.dashboard.balances.conversions import currency_options
from tollhouse.pages.dashboard.layout import render
from tollhouse.transfers.conversions import rules, rules_store
from tollhouse.transfers.conversions.model import ConversionRule, RuleConflict, RuleCreator
from tollhouse.transfers.conversions.rules import RULES_MAX, ConversionRuleUpdate, NewConversionRule
from tollhouse.transfers.conversions.views import ConversionRuleView

OPERATIONS = Operations(PAGES)
FIELDS = ("from_currency", "to_currency", "trigger", "threshold", "percent", "webhook_url")
NOTICES = {
    "made": "Rule created. It applies to new payments.",
    "paused": "Rule paused.",
    "resumed": "Rule resumed. It applies to new payments.",
    "deleted": "Rule deleted. Its conversions are kept.",
}
MESSAGES = {("threshold", "invalid_value"): "Leave this empty. Rules for payments have no threshold."}
PERCENT = re.compile(r"[1-9][0-9]?|100")
VERSION = re.compile(r"[0-9]{1,9}")
DASHBOARD_USER = RuleCreator("dashboard")


class NoticeQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`?done=` names the action that was just completed."""

    done: str = ""


@OPERATIONS.add("GET", "/{mode}/conversions/rules", guard=signed_in_page("read"))
async def show(request: Request, caller: Person, env: MerchantEnv, query: NoticeQuery) -> Response:
    """The rules of this environment, and the form for a new rule."""
    return await _rules(request, caller, env, _values(Form([])), notice=NOTICES.get(query.done, ""))


@OPERATIONS.add("POST", "/{mode}/conversions/rules", guard=signed_in_page("money"), recent_authentication="live")
async def create(request: Request, caller: Person, env: MerchantEnv) -> Response:
    """Create a rule. A currency has one rule, so a form that is sent twice creates one."""
    values = _values(request.form())
    try:
        new = _new_rule(values, request.services.catalogue)
        await request.transact(lambda work: rules.create(work, env, DASHBOARD_USER, new))
    except ApiError as error:
        at = "from_currency" if isinstance(error, RuleConflict) else ""
        currency = request.services.catalogue.currencies.get(values["from_currency"])
        texts = MESSAGES | amount_texts(currency, threshold=values["threshold"])
        return await _rules(request, caller, env, values, form_errors_of(error, FIELDS, at, texts))
    return see_other(f"/{env.mode}/conversions/rules?done=made")


@OPERATIONS.add("POST", "/{mode}/conversions/rules/{rule_id}/pause", guard=signed_in_page("money"))
async def pause(request: Request, caller: Person, env: MerchantEnv, rule_id: UUID) -> Response:
    """Pause a rule."""
    return await _set_enabled(request, caller, env, rule_id, enabled=False)


@OPERATIONS.add(
    "POST", "/{mode}/conversions/rules/{rule_id}/resume", guard=signed_in_page("money"), recent_authentication="live"
)
async def resume(request: Request, caller: Person, env: MerchantEnv, rule_id: UUID) -> Response:
    """Resume a rule from now on."""
    return await _set_enabled(request, caller, env, rule_id, enabled=True)


@OPERATIONS.add("POST", "/{mode}/conversions/rules/{rule_id}/delete", guard=signed_in_page("money"))
async def delete(request: Request, env: MerchantEnv, rule_id: UUID) -> Response:
    """Delete a rule. A repeated request succeeds."""
    with contextlib.suppress(NotFound):
        await request.transact(lambda work: rules.delete(work, env, rule_id))
    return see_other(f"/{env.mode}/conversions/rules?done=deleted")


async def _set_enabled(request: Request, caller: Person, env: MerchantEnv, rule_id: UUID, *, enabled: bool) -> Response:
    """Enable or disable a rule whose version is the one on the page."""
    services = request.services
    version = request.form().one("seen") or ""
    if not VERSION.fullmatch(version):
        raise InvalidRequest("The form field `seen` must be the version of the rule.")
    current = await rules_store.get(services.db, env, rule_id)
    if current.enabled != enabled:
        changes = _rule_update(current, int(version), request.services.catalogue, enabled=enabled)
        try:
            await request.transact(lambda work: rules.update(work, env, rule_id, changes))
        except NotFound:
            raise
        except ApiError as error:
            return await _rules(request, caller, env, _values(Form([])), FormErrors(error.message, status=error.status))
    return see_other(f"/{env.mode}/conversions/rules?done={'resumed' if enabled else 'paused'}")


def _values(form: Form) -> dict[str, str]:
    return {name: form.one(name) or "" for name in FIELDS}


def _new_rule(values: dict[str, str], catalogue: Catalogue) -> NewConversionRule:
    """The rule of the form's values. Raises `ValidationFailed`."""
    percent = values["percent"]
    if not PERCENT.fullmatch(percent):
        raise ValidationFailed(FieldError("percent", "invalid_value", messages.whole_number(1, 100)))
    threshold = read_amount(values["threshold"], catalogue.currencies.get(values["from_currency"]))
    members = {name: value for name, value in (values | {"threshold": threshold}).items() if value}
    members |= {"percent": int(percent)}
    return decode_body({"from_currency": "", "to_currency": ""} | members, NewConversionRule)


def _rule_update(current: ConversionRule, version: int, catalogue: Catalogue, *, enabled: bool) -> ConversionRuleUpdate:
    """The complete rule with `enabled` changed."""
    threshold_minor = current.threshold_minor
    return ConversionRuleUpdate(
        from_currency=current.from_currency,
        to_currency=current.to_currency,
        trigger=current.trigger,
        threshold=None if threshold_minor is None else catalogue.format_amount(threshold_minor, current.from_currency),
        percent=current.percent,
        enabled=enabled,
        webhook_url=current.webhook_url,
        version=version,
    )


async def _rules(
    request: Request,
    person: Person,
    env: MerchantEnv,
    values: dict[str, str],
    form_errors: FormErrors = NO_ERRORS,
    *,
    notice: str = "",
) -> Response:
    found = await rules_store.list_rules(request.services.db, env, all_rows(RULES_MAX))
    return render(
        request,
        person,
        "conversions/rules",
        here="conversions",
        rules=[ConversionRuleView.of(rule, request.services.catalogue) for rule in found],
        currencies=currency_options(request.services.catalogue),
        values=values,
        form_errors=form_errors,
        notice=notice,
    )
