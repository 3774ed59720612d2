"""A house whose mail goes to a postbox of the test, when the test says so: no worker runs beside it."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.accounts.mail.mail_worker import MailWorker
from tests.accounts.mail.postbox import Postbox
from tests.running import Service, free_port, settings_for
from tollhouse.instance.database import embedded


@pytest.fixture(scope="package")
def mailing(server: embedded.Server) -> Iterator[Service]:
    """The service, on a database of its own and with its limits on."""
    with Service(
        settings_for(
            server.cluster.dsn,
            fresh=True,
            TOLLHOUSE_RATE_LIMITS="on",
            TOLLHOUSE_RATE_SIGNIN_ACCOUNT="4",
            TOLLHOUSE_SMTP_URL=f"smtp://postman:hunter2@127.0.0.1:{free_port()}",
            TOLLHOUSE_MAIL_FROM="The Toll <toll@house.example>",
        ),
        worker=False,
    ) as running:
        yield running


@pytest.fixture
async def mail_worker(mailing: Service) -> AsyncIterator[MailWorker]:
    """The worker's part of it, and the postbox. Nothing waits from earlier."""
    assert mailing.settings.smtp is not None
    async with Postbox(mailing.settings.smtp.port) as postbox:
        one = MailWorker(mailing, postbox)
        await one.sql("DELETE FROM mails")
        await one.sql("UPDATE users SET verified_at = NULL")
        await one.sql("DELETE FROM failed_attempts")
        yield one
        await one.close()
