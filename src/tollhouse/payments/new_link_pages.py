"""The dashboard's form for a new payment link. It has a key of its own: posted twice, it makes one link."""

from datetime import datetime, timedelta
from uuid import UUID

from msgspec import Struct
from starlette.responses import Response

from tollhouse.callers.guards import signed_in_page
from tollhouse.callers.model import Person
from tollhouse.callers.verified import EmailUnverified
from tollhouse.catalogue import payment_settings
from tollhouse.catalogue import store as projects
from tollhouse.idempotency import KeyReused, made_once
from tollhouse.kernel import messages
from tollhouse.kernel.environment import MerchantEnv
from tollhouse.kernel.ids import new_id_text, parse_id
from tollhouse.kernel.refusals import Fault, Refusal, ValidationFailed
from tollhouse.payments import actions, sandbox_store
from tollhouse.payments.model import CreatedBy
from tollhouse.payments.new_link import NewLink
from tollhouse.payments.payment_pages import PROJECTS_SHOWN, currency_choices, method_choices
from tollhouse.platform.db import Tx
from tollhouse.web.answers import page, see_other
from tollhouse.web.ask import Ask
from tollhouse.web.form_faults import NOTHING_WRONG, Wrong, wrong_with
from tollhouse.web.forms import Form
from tollhouse.web.operations import PAGES, Operations
from tollhouse.web.paging import whole

OPERATIONS = Operations(PAGES)
FIELDS = (
    "display_name",
    "amount",
    "currency",
    "project_id",
    "description",
    "expires",
    "max_payments",
    "customer_email",
    "success_url",
    "cancel_url",
    "external_id",
    "webhook_url",
)
METHODS_FIELD = "payment_method_ids"
LIFETIMES: dict[str, tuple[timedelta, str]] = {
    "1h": (timedelta(hours=1), "In an hour"),
    "1d": (timedelta(days=1), "In a day"),
    "7d": (timedelta(days=7), "In a week"),
    "30d": (timedelta(days=30), "In 30 days"),
    "90d": (timedelta(days=90), "In 90 days"),
    "365d": (timedelta(days=365), "In a year"),
}
TIMES_DIGITS_MAX = 6
ALREADY = "This form has made a link already. Post it again to make another one."


class Typed(Struct, frozen=True):
    """What stands in the form. No method ticked: all that fit."""

    values: dict[str, str]
    methods: list[str]

    def meant(self, now: datetime) -> NewLink:
        """The link that is asked for; `now` is the time by the merchant's clock."""
        values = self.values
        times = values["max_payments"]
        known = times.isascii() and times.isdigit() and len(times) <= TIMES_DIGITS_MAX
        return NewLink(
            display_name=values["display_name"],
            amount=values["amount"],
            currency=values["currency"],
            project_id=parse_id(values["project_id"]),
            description=values["description"] or None,
            expires_at=now + LIFETIMES[values["expires"]][0] if values["expires"] else None,
            max_payments=(int(times) if known else 0) if times else None,
            payment_method_ids=self.methods or None,
            customer_email=values["customer_email"] or None,
            success_url=values["success_url"] or None,
            cancel_url=values["cancel_url"] or None,
            external_id=values["external_id"] or None,
            webhook_url=values["webhook_url"] or None,
        )


@OPERATIONS.add("GET", "/{mode}/payment-links/new", guard=signed_in_page)
async def fill_in(ask: Ask, caller: Person, mode: str) -> Response:
    """The form, for a link that can be paid once in the merchant's own currency."""
    env = caller.env(mode)
    settings = await payment_settings.of(ask.house.db, env)
    first = {"currency": settings.default_currency, "max_payments": "1"}
    return await _form(ask, caller, env, _typed(Form(list(first.items()))))


@OPERATIONS.add("POST", "/{mode}/payment-links/new", guard=signed_in_page, refuses=(EmailUnverified,))
async def make(ask: Ask, caller: Person, mode: str) -> Response:
    """Make the link; or the form again, with what is wrong in it."""
    env, house = caller.env(mode), ask.house
    form = ask.form()
    typed = _typed(form)
    key = form.one("key") or ""
    if parse_id(key) is None:
        return await _form(ask, caller, env, typed)

    async def deed(tx: Tx) -> UUID:
        async def open_link() -> UUID:
            ahead = timedelta() if env.livemode else await sandbox_store.ahead(tx, env)
            new = typed.meant(ask.now + ahead)
            return (await actions.open_link(tx, env, new, CreatedBy("dashboard"), house, ask.now, caller)).id

        return await made_once(tx, ask, env, key, typed, open_link)

    try:
        made_id = await house.db.transact(deed)
    except KeyReused as refusal:
        return await _form(ask, caller, env, typed, Wrong(ALREADY, status=refusal.status))
    except EmailUnverified:
        raise
    except Refusal as refusal:
        return await _form(ask, caller, env, typed, wrong_with(refusal, (*FIELDS, METHODS_FIELD)), key)
    return see_other(f"/{env.mode}/payment-links/{made_id}")


def _typed(form: Form) -> Typed:
    values = {name: form.one(name) or "" for name in FIELDS}
    if values["expires"] and values["expires"] not in LIFETIMES:
        raise ValidationFailed(Fault("expires", "invalid_value", messages.A_CHOICE))
    if values["project_id"] and parse_id(values["project_id"]) is None:
        raise ValidationFailed(Fault("project_id", "invalid_value", messages.A_PROJECT))
    return Typed(values, form.all(METHODS_FIELD))


async def _form(
    ask: Ask, person: Person, env: MerchantEnv, typed: Typed, wrong: Wrong = NOTHING_WRONG, key: str = ""
) -> Response:
    db = ask.house.db
    approved = await projects.approved(db, env, whole(PROJECTS_SHOWN))
    settings = await payment_settings.of(db, env)
    return page(
        ask,
        "payments/new_link.html",
        wrong.status,
        person=person,
        mode=env.mode,
        here="payment-links",
        key=key or new_id_text(),
        projects=[(str(one.id), one.name) for one in approved],
        currencies=currency_choices(),
        methods=method_choices(env),
        lifetimes=[(name, words) for name, (_, words) in LIFETIMES.items()],
        usual_minutes=settings.link_expiry_minutes,
        typed=typed.values,
        ticked=typed.methods,
        wrong=wrong,
    )
