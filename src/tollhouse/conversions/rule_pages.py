"""The dashboard's page about conversion rules: what is converted by itself, made, paused, resumed and deleted."""

import contextlib
import re
from uuid import UUID

from msgspec import Struct
from starlette.responses import Response

from tollhouse.callers.guards import signed_in_page
from tollhouse.callers.model import Person
from tollhouse.conversions import rules, rules_store
from tollhouse.conversions.model import CreatedBy, Rule
from tollhouse.conversions.pages import currencies
from tollhouse.conversions.refusals import RuleConflict
from tollhouse.conversions.rules import RULES_MAX, ChangedRule, NewRule
from tollhouse.conversions.views import rule_view
from tollhouse.kernel import messages
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.refusals import Fault, InvalidRequest, NotFound, Refusal, ValidationFailed
from tollhouse.web.answers import page, see_other
from tollhouse.web.ask import Ask
from tollhouse.web.bodies import shape
from tollhouse.web.form_faults import NOTHING_WRONG, Wrong, wrong_with
from tollhouse.web.forms import Form
from tollhouse.web.operations import PAGES, Operations
from tollhouse.web.paging import whole

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
async def show(ask: Ask, caller: Person, mode: str, query: DoneQuery) -> Response:
    """The rules of this environment, and the form for a new one."""
    return await _rules(ask, caller, caller.env(mode), _typed(Form([])), notice=NOTICES.get(query.done, ""))


@OPERATIONS.add("POST", "/{mode}/conversions/rules", guard=signed_in_page)
async def make(ask: Ask, caller: Person, mode: str) -> Response:
    """Make a rule. A currency has one: so a form that is posted twice makes no second."""
    env, house = caller.env(mode), ask.house
    typed = _typed(ask.form())
    try:
        new = _new_rule(typed)
        await house.db.transact(lambda tx: rules.make(tx, env, AT_DASHBOARD, new, house, ask.now))
    except Refusal as refusal:
        at = "from_currency" if isinstance(refusal, RuleConflict) else ""
        return await _rules(ask, caller, env, typed, wrong_with(refusal, FIELDS, at, SAID))
    return see_other(f"/{env.mode}/conversions/rules?done=made")


@OPERATIONS.add("POST", "/{mode}/conversions/rules/{rule_id}/pause", guard=signed_in_page)
async def pause(ask: Ask, caller: Person, mode: str, rule_id: UUID) -> Response:
    """Let a rule rest."""
    return await _switch(ask, caller, caller.env(mode), rule_id, enabled=False)


@OPERATIONS.add("POST", "/{mode}/conversions/rules/{rule_id}/resume", guard=signed_in_page)
async def resume(ask: Ask, caller: Person, mode: str, rule_id: UUID) -> Response:
    """Let a rule count again, from now on."""
    return await _switch(ask, caller, caller.env(mode), rule_id, enabled=True)


@OPERATIONS.add("POST", "/{mode}/conversions/rules/{rule_id}/delete", guard=signed_in_page)
async def delete(ask: Ask, caller: Person, mode: str, rule_id: UUID) -> Response:
    """Delete a rule; one that was deleted before is deleted."""
    env = caller.env(mode)
    with contextlib.suppress(NotFound):
        await ask.house.db.transact(lambda tx: rules.end(tx, env, rule_id, ask.now))
    return see_other(f"/{env.mode}/conversions/rules?done=deleted")


async def _switch(ask: Ask, caller: Person, env: MerchantEnv, rule_id: UUID, *, enabled: bool) -> Response:
    """Change nothing else of the rule, and that only where it is still the one that was seen."""
    house = ask.house
    seen = ask.form().one("seen") or ""
    if not VERSION.fullmatch(seen):
        raise InvalidRequest("The form does not say which state of the rule was seen.")
    present = await rules_store.one(house.db, env, rule_id)
    if present is None:
        raise NotFound
    if present.enabled != enabled:
        changed = _changed(present, int(seen), enabled=enabled)
        try:
            await house.db.transact(lambda tx: rules.change(tx, env, rule_id, changed, house, ask.now))
        except NotFound:
            raise
        except Refusal as refusal:
            return await _rules(ask, caller, env, _typed(Form([])), Wrong(refusal.message, status=refusal.status))
    return see_other(f"/{env.mode}/conversions/rules?done={'resumed' if enabled else 'paused'}")


def _typed(form: Form) -> dict[str, str]:
    return {name: form.one(name) or "" for name in FIELDS} | {"threshold": form.amount("threshold")}


def _new_rule(typed: dict[str, str]) -> NewRule:
    """The rule that was typed. Raises `ValidationFailed`."""
    percent = typed["percent"]
    if not PERCENT.fullmatch(percent):
        raise ValidationFailed(Fault("percent", "invalid_value", messages.whole_number(1, 100)))
    asked = {name: value for name, value in typed.items() if value} | {"percent": int(percent)}
    return shape({"from_currency": "", "to_currency": ""} | asked, NewRule)


def _changed(present: Rule, version: int, *, enabled: bool) -> ChangedRule:
    """The whole of the rule, as changing asks for it."""
    shown = rule_view(present)
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
    ask: Ask,
    person: Person,
    env: MerchantEnv,
    typed: dict[str, str],
    wrong: Wrong = NOTHING_WRONG,
    *,
    notice: str = "",
) -> Response:
    found = await rules_store.listed(ask.house.db, env, whole(RULES_MAX))
    return page(
        ask,
        "conversions/rules.html",
        wrong.status,
        person=person,
        mode=env.mode,
        here="conversions",
        rules=[rule_view(one) for one in found],
        currencies=currencies(),
        typed=typed,
        wrong=wrong,
        notice=notice,
    )
