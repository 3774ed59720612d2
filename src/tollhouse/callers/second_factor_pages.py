"""The pages on which somebody switches a second factor on and off, and makes backup codes: whoever has an account."""

from collections.abc import Awaitable, Callable
from typing import Literal
from uuid import UUID

from msgspec import Struct
from starlette.responses import Response

from tollhouse.callers import second_factor
from tollhouse.callers.second_factor import SecondFactorChanged
from tollhouse.kernel.clock import stamp
from tollhouse.kernel.refusals import Refusal
from tollhouse.platform.db import Tx
from tollhouse.web.answers import see_other
from tollhouse.web.ask import Ask
from tollhouse.web.forms import what_was_done
from tollhouse.web.qr import qr_image

Switched = Literal["factor_on", "factor_off"]


class Seat(Struct, frozen=True):
    """Who sits there: whose factor it is, where their pages begin, how a page is shown to them, and how they are told."""

    holder_id: UUID
    email: str
    root: str
    show: Callable[..., Response]
    tell: Callable[[Tx, Switched], Awaitable[None]]


async def start(ask: Ask, seat: Seat) -> Response:
    """Whether there is a second factor, and how many backup codes are left."""
    return await _start(ask, seat, off=what_was_done(ask.query) == "off")


async def enrol(ask: Ask, seat: Seat) -> Response:
    """Make a secret for an authenticator. It counts when a first code of it was seen."""
    try:
        await second_factor.enrol(ask, seat.holder_id)
    except SecondFactorChanged:
        return see_other(seat.root)
    return see_other(f"{seat.root}/setup")


async def setup(ask: Ask, seat: Seat, refusal: Refusal | None = None) -> Response:
    """The secret as a code for the camera and as a key, and the form for the first code."""
    enrolment = await second_factor.enrolment(ask, seat.holder_id, seat.email)
    if enrolment is None:
        return see_other(seat.root)
    return _shown(seat, "setup", refusal, key=enrolment.key, uri=enrolment.uri, qr=qr_image(enrolment.uri))


async def confirm(ask: Ask, seat: Seat) -> Response:
    """Switch it on, and show the backup codes once."""
    try:
        codes = await second_factor.confirm(
            ask, seat.holder_id, ask.form().one("code") or "", lambda tx: seat.tell(tx, "factor_on")
        )
    except SecondFactorChanged:
        return see_other(seat.root)
    except Refusal as refusal:
        return await setup(ask, seat, refusal)
    return _shown(seat, "codes", codes=codes, switched_on=True)


async def renew(ask: Ask, seat: Seat) -> Response:
    """Make other backup codes, for a code, and show them once."""
    try:
        codes = await second_factor.renew_backup_codes(ask, seat.holder_id, ask.form().one("code") or "")
    except Refusal as refusal:
        return await _start(ask, seat, refusal)
    return _shown(seat, "codes", codes=codes, switched_on=False)


async def ask_to_turn_off(ask: Ask, seat: Seat, refusal: Refusal | None = None) -> Response:
    """What switching it off means, and the form for the code that does it."""
    if await second_factor.state(ask.house.db, seat.holder_id) is None:
        return see_other(seat.root)
    return _shown(seat, "off", refusal)


async def turn_off(ask: Ask, seat: Seat) -> Response:
    """Switch it off, for a code. Clicked twice, it is off and that is well."""
    try:
        await second_factor.turn_off(
            ask, seat.holder_id, ask.form().one("code") or "", lambda tx: seat.tell(tx, "factor_off")
        )
    except SecondFactorChanged:
        return see_other(seat.root)
    except Refusal as refusal:
        return await ask_to_turn_off(ask, seat, refusal)
    return see_other(f"{seat.root}?done=off")


async def _start(ask: Ask, seat: Seat, refusal: Refusal | None = None, *, off: bool = False) -> Response:
    state = await second_factor.state(ask.house.db, seat.holder_id)
    since = "" if state is None else stamp(state.on_since)
    return _shown(seat, "start", refusal, state=state, since=since, off=off)


def _shown(seat: Seat, name: str, refusal: Refusal | None = None, **facts: object) -> Response:
    """The page, with what was refused."""
    status, message = (200, "") if refusal is None else (refusal.status, refusal.message)
    shown = seat.show(
        f"callers/second_factor_{name}.html", status, root=seat.root, email=seat.email, message=message, **facts
    )
    shown.headers.update({} if refusal is None else refusal.headers)
    return shown
