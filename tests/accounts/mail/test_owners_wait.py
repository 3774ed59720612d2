"""Who changes the own address changes nothing about owners meanwhile."""

from datetime import timedelta

import pytest

from tests.accounts.mail.address_steps import EMAIL, TURN_BACK, fresh, start
from tests.accounts.mail.mail_worker import MailWorker
from tests.accounts.team.invited import id_of
from tests.cast import member, sign_up


@pytest.mark.long
async def test_who_changes_the_address_changes_nothing_about_owners(mail_worker: MailWorker) -> None:
    """An owner whom a thief made would stay after the change is undone. Others of the team are removed by an owner."""
    async with (
        sign_up(mail_worker.service, "dora", "Dora's Deli") as dora,
        member(dora, "administrator") as adam,
        member(dora, "owner") as olga,
    ):
        of_adam, of_olga = [f"/members/{await id_of(dora, one.email)}" for one in (adam, olga)]
        new = {"email": fresh(), "role": "owner"}

        async def owners_wait() -> None:
            for method, path, body in (
                ("POST", "/invitations", new),
                ("PATCH", of_adam, {"role": "owner"}),
                ("PATCH", of_olga, {"role": "administrator"}),
                ("POST", f"{of_adam}/transfer-ownership", None),
                ("DELETE", of_olga, None),
            ):
                refused = await dora.dashboard(method, path, body)
                refused.refused("owners_wait", 409)
                assert refused.body["details"]["until"] == (await dora.dashboard("GET", EMAIL)).ok().body[until]
            page = (await dora.form(f"/settings{of_adam}/transfer", {})).text
            assert "A change of your email address waits or can be undone" in page

        link, until = await start(mail_worker, dora, fresh()), "confirm_until"
        await owners_wait()
        (await dora.form(link, {})).ok()
        until = "undo_until"
        await owners_wait()
        (await dora.dashboard("POST", "/invitations", new | {"role": "administrator"})).ok(201)
        (await dora.dashboard("PATCH", of_adam, {"role": "finance"})).ok()
        (await olga.dashboard("PATCH", of_adam, {"role": "owner"})).ok()
        await mail_worker.sql(TURN_BACK, timedelta(hours=73))
        (await dora.dashboard("POST", "/invitations", new | {"email": fresh()})).ok(201)
