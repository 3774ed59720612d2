"""The dashboard's page about conversion rules: what is converted by itself, made, paused, resumed and deleted."""

import contextlib
import re
from uuid import UUID

from msgspec import Struct
from starlette.responses import Response

from tollhouse.conversions import rules, rules_store
from tollhouse.conversions.errors import RuleConflict
from tollhouse.conversions.model import CreatedBy, Rule
from tollhouse.conversions.pages import currencies
from tollhouse.conversions.rules import RULES_MAX, ChangedRule, NewRule
from tollhouse.conversions.views import rule_view
from tollhouse.http.bodies import shape
from tollhouse.http.form_errors import NO_ERRORS, FormErrors, form_errors_of
from tollhouse.http.forms import Form
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.paging import whole
from tollhouse.http.request import Request
from tollhouse.http.responses import page, see_other
from tollhouse.identity.guards import signed_in_page
from tollhouse.identity.model import Person
from tollhouse.kernel import messages
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import ApiError, FieldError, InvalidRequest, NotFound, ValidationFailed

OPERATIONS = Operations(PAGES)
FIELDS = ("from_currency", "to_currency", "trigger", "threshold", "percent", "webhook_url")
NOTICES = {
    "made": "The rule counts from now on.",
    "paused": "The rule is paused.",
    "resumed": "The rule counts again, from now on.",
    "deleted": "The rule is deleted. What it converted stays.",
}
SAID = {("threshold", "invalid_value"): "Leave this empty: a rule that looks at payments has no threshold."}
PERCENT = re.compile(r"[1-9][0-9]?|100")
VERSION = re.compile(r"[0-9]{1,9}")
AT_DASHBOARD = CreatedBy("dashboard")


class DoneQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`?done=` names what was just done."""

    done: str = ""


@OPERATIONS.add("GET", "/{mode}/conversions/rules", guard=signed_in_page)
async def show(request: Request, caller: Person, mode: str, query: DoneQuery) -> Response:
    """The rules of this environment, and the form for a new one."""
    return await _rules(request, caller, caller.env(mode), _typed(Form([])), notice=NOTICES.get(query.done, ""))


@OPERATIONS.add("POST", "/{mode}/conversions/rules", guard=signed_in_page)
async def make(request: Request, caller: Person, mode: str) -> Response:
    """Make a rule. A currency has one: so a form that is posted twice makes no second."""
    env, services = caller.env(mode), request.services
    typed = _typed(request.form())
    try:
        new = _new_rule(typed)
        await services.db.transact(lambda tx: rules.make(tx, env, AT_DASHBOARD, new, services, request.now))
    except ApiError as error:
        at = "from_currency" if isinstance(error, RuleConflict) else ""
        return await _rules(request, caller, env, typed, form_errors_of(error, FIELDS, at, SAID))
    return see_other(f"/{env.mode}/conversions/rules?done=made")


@OPERATIONS.add("POST", "/{mode}/conversions/rules/{rule_id}/pause", guard=signed_in_page)
async def pause(request: Request, caller: Person, mode: str, rule_id: UUID) -> Response:
    """Let a rule rest."""
    return await _switch(request, caller, caller.env(mode), rule_id, enabled=False)


@OPERATIONS.add("POST", "/{mode}/conversions/rules/{rule_id}/resume", guard=signed_in_page)
async def resume(request: Request, caller: Person, mode: str, rule_id: UUID) -> Response:
    """Let a rule count again, from now on."""
    return await _switch(request, caller, caller.env(mode), rule_id, enabled=True)


@OPERATIONS.add("POST", "/{mode}/conversions/rules/{rule_id}/delete", guard=signed_in_page)
async def delete(request: Request, caller: Person, mode: str, rule_id: UUID) -> Response:
    """Delete a rule; one that was deleted before is deleted."""
    env = caller.env(mode)
    with contextlib.suppress(NotFound):
        await request.services.db.transact(lambda tx: rules.end(tx, env, rule_id, request.now))
    return see_other(f"/{env.mode}/conversions/rules?done=deleted")


async def _switch(request: Request, caller: Person, env: MerchantEnv, rule_id: UUID, *, enabled: bool) -> Response:
    """Change nothing else of the rule, and that only where it is still the one that was seen."""
    services = request.services
    seen = request.form().one("seen") or ""
    if not VERSION.fullmatch(seen):
        raise InvalidRequest("The form does not say which state of the rule was seen.")
    current = await rules_store.one(services.db, env, rule_id)
    if current is None:
        raise NotFound
    if current.enabled != enabled:
        changed = _changed(current, int(seen), enabled=enabled)
        try:
            await services.db.transact(lambda tx: rules.change(tx, env, rule_id, changed, services, request.now))
        except NotFound:
            raise
        except ApiError as error:
            return await _rules(request, caller, env, _typed(Form([])), FormErrors(error.message, status=error.status))
    return see_other(f"/{env.mode}/conversions/rules?done={'resumed' if enabled else 'paused'}")


def _typed(form: Form) -> dict[str, str]:
    return {name: form.one(name) or "" for name in FIELDS} | {"threshold": form.amount("threshold")}


def _new_rule(typed: dict[str, str]) -> NewRule:
    """The rule that was typed. Raises `ValidationFailed`."""
    percent = typed["percent"]
    if not PERCENT.fullmatch(percent):
        raise ValidationFailed(FieldError("percent", "invalid_value", messages.whole_number(1, 100)))
    asked = {name: value for name, value in typed.items() if value} | {"percent": int(percent)}
    return shape({"from_currency": "", "to_currency": ""} | asked, NewRule)


def _changed(current: Rule, version: int, *, enabled: bool) -> ChangedRule:
    """The whole of the rule, as changing asks for it."""
    shown = rule_view(current)
    return ChangedRule(
        from_currency=shown.from_currency,
        to_currency=shown.to_currency,
        trigger=shown.trigger,
        threshold=shown.threshold,
        percent=shown.percent,
        enabled=enabled,
        webhook_url=shown.webhook_url,
        version=version,
    )


async def _rules(
    request: Request,
    person: Person,
    env: MerchantEnv,
    typed: dict[str, str],
    form_errors: FormErrors = NO_ERRORS,
    *,
    notice: str = "",
) -> Response:
    found = await rules_store.listed(request.services.db, env, whole(RULES_MAX))
    return page(
        request,
        "conversions/rules.html",
        form_errors.status,
        person=person,
        mode=env.mode,
        here="conversions",
        rules=[rule_view(one) for one in found],
        currencies=currencies(),
        typed=typed,
        form_errors=form_errors,
        notice=notice,
    )
