"""Operators' second factor: the same codes, at their own sign-in, and gone with a reset."""

from tests.accounts.merchants.authenticator import enrol
from tests.cast import PASSWORD, Actor
from tests.forms import seen
from tests.pages.console.operator_pages import visitor
from tests.pages.console.test_signing_in import sign_in
from tests.running import Service
from tollhouse.accounts.approvals.model import OperatorContext
from tollhouse.kernel import clock
from tollhouse.pages.console import users

ROOT = "/operator/security"
CODE_PAGE = "/operator/signin/2fa"


async def half_in(actor: Actor) -> str:
    fields = {"email": actor.email, "password": PASSWORD, "to": "/operator/projects"}
    return (await actor.form("/operator/signin", fields)).ok(303).location


async def reset(service: Service, email: str) -> str:
    """As the command line does it; the path of the new link."""
    services = service.create_services(connections=1)
    try:
        context = OperatorContext("test", clock.now())
        _, secret = await services.transact(lambda work: users.invite_again(work, email, context), context.at)
    finally:
        await services.db.close()
    return f"/operator/welcome/{secret}"


async def test_an_operator_signs_in_by_password_and_code(olga: Actor, service: Service) -> None:
    authenticator = await enrol(olga, ROOT)
    async with visitor(service, olga.email) as other:
        assert (await other.send("GET", CODE_PAGE)).ok(303).location == "/operator/signin"
        there = await half_in(other)
        assert there == f"{CODE_PAGE}?to=%2Foperator%2Fprojects"
        (await other.send("GET", "/operator")).ok(303)
        assert "Enter your code" in await seen(other, there)
        fields = {"code": authenticator.code(), "to": "/operator/projects"}
        (await other.form(CODE_PAGE, fields | {"code": "000000"})).ok(401)
        assert (await other.form(CODE_PAGE, fields)).ok(303).location == "/operator/projects"
        (await other.send("GET", "/operator")).ok()
        await half_in(other)
        (await other.form(CODE_PAGE, fields)).ok(401)
        (await other.form(CODE_PAGE, {"code": authenticator.backup_codes[0]})).ok(303)
        code = await authenticator.next_code(other)
        assert (await other.form(f"{ROOT}/off", {"code": code})).ok(303).location == f"{ROOT}?done=off"
        assert (await other.form("/operator/signin", {"email": olga.email, "password": PASSWORD})).location == "/operator"


async def test_a_reset_takes_the_second_factor_away_and_what_was_half_open(olga: Actor, service: Service) -> None:
    authenticator = await enrol(olga, ROOT)
    async with visitor(service, olga.email) as other:
        await half_in(other)
        link = await reset(service, olga.email)
        fields = {"code": authenticator.code()}
        (await other.form(CODE_PAGE, fields)).ok(401)
        (await olga.form(link, {"password": "another password"})).ok(303)
        assert (await other.form(CODE_PAGE, fields)).ok(303).location == "/operator/signin"
        (await other.send("GET", "/operator")).ok(303)
        assert await sign_in(other, "another password") == 303
        (await other.send("GET", "/operator")).ok()
