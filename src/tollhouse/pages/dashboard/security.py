"""The security pages of a user: two-factor authentication. Users of a suspended merchant can use them too."""

from functools import partial

from tollhouse.accounts.identity import sessions
from tollhouse.accounts.identity.guards import signed_in_page, signed_in_page_while_suspended
from tollhouse.accounts.identity.model import Person
from tollhouse.accounts.identity.second_factor_pages import FactorEvent, TwoFactorAccount, add_operations
from tollhouse.accounts.mail import store as outbox
from tollhouse.accounts.mail.model import Email
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import page
from tollhouse.http.services import Work

OPERATIONS = Operations(PAGES)
ROOT = "/settings/security"


def _account(request: Request, person: Person) -> TwoFactorAccount:
    render = partial(page, request, frame="http/shell.html", person=person, here="security")

    async def notify(work: Work, event: FactorEvent) -> None:
        if event == "factor_on":
            await sessions.revoke_other_sessions(work, person)
        await outbox.enqueue(work.tx, Email(event, person.email, person.language, person.user_id), request.now)

    return TwoFactorAccount(person.user_id, person.email, ROOT, render, notify)


add_operations(
    OPERATIONS,
    ROOT,
    _account,
    read=signed_in_page,
    write=signed_in_page_while_suspended,
    recent_authentication="always",
)
