"""Conversion rules: made, changed and ended by merchants, and followed by the worker, once for everything that comes in."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Annotated
from uuid import UUID

import msgspec
from msgspec import Meta, Struct

from tollhouse.audit import record
from tollhouse.audit.changes import changes
from tollhouse.audit.event_types import AuditEventType
from tollhouse.catalogue.amounts import Amount, amount_fault, minor_of
from tollhouse.catalogue.conversion_pairs import pair
from tollhouse.catalogue.currencies import CURRENCIES, priced
from tollhouse.conversions import actions, prices, rules_store
from tollhouse.conversions.errors import RuleChanged, RuleConflict
from tollhouse.conversions.model import Conversion, CreatedBy, Exchange, Rule, Trigger, giving
from tollhouse.conversions.new_conversion import currency_faults, destination_faults, pair_of
from tollhouse.conversions.rules_store import News
from tollhouse.http.bodies import RequestFacts
from tollhouse.http.paging import whole
from tollhouse.http.services import Services
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.errors import FieldError, NotFound, ValidationFailed
from tollhouse.kernel.ids import new_id
from tollhouse.platform.config import Settings
from tollhouse.platform.db import Tx

PERCENT = 100
RETRY = timedelta(seconds=60)
RULES_MAX = 1_000
"""More than there are currencies: a merchant has one rule for each, at most."""


class NewRule(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a merchant wants done. `threshold` belongs to `on_threshold`, and only there."""

    from_currency: str
    to_currency: str
    trigger: Trigger
    threshold: Amount = None
    percent: Annotated[int, Meta(ge=1, le=100)] = PERCENT
    enabled: bool = True
    webhook_url: str | None = None

    def rule_errors(self, facts: RequestFacts) -> Iterator[FieldError]:
        """Everything that is wrong, as far as nothing is looked up."""
        return _faults(self, facts.caller.env, facts.settings)


class ChangedRule(NewRule, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The whole rule anew; `version` is the one that was read."""

    version: int


async def make(tx: Tx, env: MerchantEnv, created_by: CreatedBy, new: NewRule, services: Services, now: datetime) -> Rule:
    """A rule that counts from now on. Raises `ValidationFailed`, `CurrencyNotSupported` and `RuleConflict`."""
    threshold_minor = _understand(new, env, services.settings)
    rule = Rule(
        id=new_id(),
        env=env,
        from_currency=new.from_currency,
        to_currency=new.to_currency,
        trigger=new.trigger,
        threshold_minor=threshold_minor,
        percent=new.percent,
        enabled=new.enabled,
        webhook_url=new.webhook_url,
        created_by=created_by,
        version=1,
        created_at=now,
        updated_at=now,
    )
    await _refuse_conflict(tx, rule)
    # Nothing below this line may refuse.
    await _note(tx, "rule.made", None, rule, now)
    return await rules_store.insert(tx, rule)


async def change(tx: Tx, env: MerchantEnv, rule_id: UUID, new: ChangedRule, services: Services, now: datetime) -> Rule:
    """Replace a rule. Raises `NotFound`, `RuleChanged` and the refusals of `make`."""
    threshold_minor = _understand(new, env, services.settings)
    await rules_store.hold(tx, env)
    current = await rules_store.one(tx, env, rule_id)
    if current is None:
        raise NotFound
    if current.version != new.version:
        raise RuleChanged(current.version)
    rule = msgspec.structs.replace(
        current,
        from_currency=new.from_currency,
        to_currency=new.to_currency,
        trigger=new.trigger,
        threshold_minor=threshold_minor,
        percent=new.percent,
        enabled=new.enabled,
        webhook_url=new.webhook_url,
    )
    await _refuse_conflict(tx, rule)
    # Nothing below this line may refuse.
    changed = await rules_store.change(tx, rule, now)
    if changed is None:
        raise AssertionError("rules of a merchant that is held do not change")
    await _note(tx, "rule.changed", current, changed, now)
    return changed


async def end(tx: Tx, env: MerchantEnv, rule_id: UUID, now: datetime) -> Rule:
    """Delete a rule; what it converted stays. Raises `NotFound`."""
    ended = await rules_store.delete(tx, env, rule_id)
    if ended is None:
        raise NotFound
    await _note(tx, "rule.ended", ended, ended, now)
    return ended


async def follow(tx: Tx, env: MerchantEnv, rule_id: UUID, services: Services, now: datetime) -> Conversion | None:
    """Do what a rule says of everything that came in since it last looked; None where nothing is to be done now.

    How far it looked and what it converted are one transaction: so nothing counts twice, and nothing is left out.
    """
    rule = await rules_store.take(tx, env, rule_id)
    if rule is None:
        return None
    news = await rules_store.look(tx, rule)
    waiting_minor = max(0, rule.waiting_minor + news.paid_minor) if rule.trigger == "on_payment" else 0
    wanted_minor = _wanted(rule, news, waiting_minor)
    terms = pair(rule.from_currency, rule.to_currency)
    if wanted_minor < terms.minimum_minor:
        await rules_store.note(tx, rule, news.version, waiting_minor, rule.runs, None)
        return None
    offer = await prices.offer_of(tx, env.mode, terms, now)
    if offer.rate is None or offer.unavailable_reason is not None:  # nothing was looked at: the same counts again
        await rules_store.note(tx, rule, rule.seen_version, rule.waiting_minor, rule.runs, now + RETRY)
        return None
    amount_minor = wanted_minor if terms.maximum_minor is None else min(wanted_minor, terms.maximum_minor)
    exchange = giving(terms, offer.rate, amount_minor)
    if exchange.to_amount_minor <= 0:
        await rules_store.note(tx, rule, news.version, waiting_minor, rule.runs, None)
        return None
    conversion = _conversion(rule, exchange, now)
    left_minor = 0 if amount_minor == wanted_minor else max(0, waiting_minor - amount_minor * PERCENT // rule.percent)
    await actions.carry_out(tx, conversion, services, now)
    await rules_store.note(tx, rule, news.version, left_minor, rule.runs + 1, now if left_minor else None)
    return conversion


async def put_off(tx: Tx, env: MerchantEnv, rule_id: UUID, now: datetime) -> None:
    """Follow a rule later, because the balance cannot hold what it would bring now."""
    rule = await rules_store.take(tx, env, rule_id)
    if rule is not None:
        await rules_store.note(tx, rule, rule.seen_version, rule.waiting_minor, rule.runs, now + RETRY)


async def _note(tx: Tx, action: AuditEventType, before: Rule | None, after: Rule, now: datetime) -> None:
    name = f"{after.from_currency} → {after.to_currency}"
    changed = changes({} if before is None else _said(before), _said(after))
    await record.note(tx, after.env, action, now, subject=after.id, name=name, changed=changed)


def _said(rule: Rule) -> Mapping[str, object]:
    """What a merchant can say of a rule."""
    threshold = None if rule.threshold_minor is None else priced(rule.threshold_minor, rule.from_currency)
    said = ("from_currency", "to_currency", "trigger", "percent", "enabled", "webhook_url")
    return {name: getattr(rule, name) for name in said} | {"threshold": threshold}


def _wanted(rule: Rule, news: News, waiting_minor: int) -> int:
    """How much the rule would convert now."""
    if rule.trigger == "on_payment":
        return min(waiting_minor * rule.percent // PERCENT, news.available_minor)
    reached = rule.threshold_minor is not None and news.available_minor >= rule.threshold_minor
    return news.available_minor * rule.percent // PERCENT if reached and news.grew else 0


def _conversion(rule: Rule, exchange: Exchange, now: datetime) -> Conversion:
    return Conversion(
        id=new_id(),
        env=rule.env,
        exchange=exchange,
        quote_id=None,
        rule_id=rule.id,
        rule_step=rule.runs + 1,
        webhook_url=rule.webhook_url,
        external_id=None,
        metadata={},
        created_at=now,
    )


def _understand(new: NewRule, env: MerchantEnv, settings: Settings) -> int | None:
    """The threshold in minor units. Raises `ValidationFailed` with every fault, else `CurrencyNotSupported`."""
    if field_errors := list(_faults(new, env, settings)):
        raise ValidationFailed(*field_errors)
    pair_of(new.from_currency, new.to_currency)
    return minor_of(new.threshold, CURRENCIES[new.from_currency])


def _faults(new: NewRule, env: MerchantEnv, settings: Settings) -> Iterator[FieldError]:
    known = CURRENCIES.get(new.from_currency)
    yield from currency_faults(new.from_currency, new.to_currency)
    yield from destination_faults(new.webhook_url, env, settings)
    if new.trigger == "on_threshold" and minor_of(new.threshold, known) is None:
        yield amount_fault(known, "threshold")
    if new.trigger == "on_payment" and new.threshold is not None:
        yield FieldError("threshold", "invalid_value", "This must be left out unless trigger is on_threshold.")


async def _refuse_conflict(tx: Tx, rule: Rule) -> None:
    """One rule converts from a currency, and no way along the rules leads back to it. Raises `RuleConflict`."""
    await rules_store.hold(tx, rule.env)
    others = {
        one.from_currency: one for one in await rules_store.listed(tx, rule.env, whole(RULES_MAX)) if one.id != rule.id
    }
    if rule.from_currency in others:
        raise RuleConflict(others[rule.from_currency].id)
    at = others.get(rule.to_currency)
    while at is not None:
        if at.to_currency == rule.from_currency:
            raise RuleConflict(at.id)
        at = others.get(at.to_currency)
