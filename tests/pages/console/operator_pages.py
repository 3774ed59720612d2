"""Operators at their pages: invited as the command line invites them, welcomed over HTTP."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import uuid4

import aiohttp

from tests.accounts.merchants.authenticator import enrol
from tests.cast import PASSWORD, Actor
from tests.running import Service
from tollhouse.accounts.approvals.model import OperatorContext
from tollhouse.kernel import clock
from tollhouse.pages.console import users

KEPT = "SELECT action, operator, reason, mode FROM operator_actions WHERE merchant_id = $1::uuid ORDER BY at, id"


async def invite(service: Service, email: str) -> str:
    """The path of the link on which a new operator chooses a password."""
    services = service.create_services(connections=1)
    try:
        context = OperatorContext(f"test {os.getpid()}", clock.now())
        _, secret = await services.transact(lambda work: users.invite(work, email, context), context.at)
    finally:
        await services.db.close()
    return f"/operator/welcome/{secret}"


@asynccontextmanager
async def visitor(service: Service, email: str = "") -> AsyncIterator[Actor]:
    """A browser in which nobody is signed in."""
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as http:
        yield Actor(service, http, email, "")


@asynccontextmanager
async def signed_in_operator(service: Service, name: str = "olga") -> AsyncIterator[Actor]:
    """An operator with a session, and with a second factor in live use. It has no merchant."""
    email = f"{name}-{uuid4().hex[:12]}@house.example"
    async with visitor(service, email) as actor:
        (await actor.form(await invite(service, email), {"password": PASSWORD})).ok(303)
        if service.settings.is_live_use:
            await enrol(actor, "/operator/security")
        yield actor
