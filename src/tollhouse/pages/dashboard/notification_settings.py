"""The page on which each person turns notifications by email off and on. Emails about security stay on."""

from typing import get_args

from starlette.responses import Response

from tollhouse.accounts.identity import users_store
from tollhouse.accounts.identity.guards import signed_in_page
from tollhouse.accounts.identity.model import Person
from tollhouse.accounts.mail.model import NotificationTopic
from tollhouse.http.forms import flash_message
from tollhouse.http.operations import PAGES, Operations
from tollhouse.http.request import Request
from tollhouse.http.responses import page, see_other
from tollhouse.http.services import Work

OPERATIONS = Operations(PAGES)
PATH = "/settings/notifications"
TOPICS: dict[NotificationTopic, tuple[str, str]] = {
    "disputes": ("Disputes", "A customer disputes a payment."),
    "withdrawals": ("Withdrawals", "A withdrawal is completed, fails, is rejected, or a scheduled one is not created."),
    "refunds": ("Refunds", "A refund fails."),
    "projects": ("Projects", "A project or its changes are approved or rejected."),
    "webhooks": ("Webhooks", "Webhook events have not been delivered for an hour."),
    "applications": ("Connected applications", "An application is connected or disconnected."),
}
"""The title of each topic, and when an email is sent."""
if TOPICS.keys() != set(get_args(NotificationTopic)):
    raise AssertionError("the page names every topic")


@OPERATIONS.add("GET", PATH, guard=signed_in_page)
async def show(request: Request, caller: Person) -> Response:
    """The topics, with those that are on."""
    muted = await users_store.muted_topics(request.services.db, caller.user_id)
    return page(
        request,
        "dashboard/settings/notifications.html",
        person=caller,
        here="notifications",
        topics=[(name, *texts, name not in muted) for name, texts in TOPICS.items()],
        has_relay=request.services.settings.smtp is not None,
        saved=flash_message(request.query) == "saved",
    )


@OPERATIONS.add("POST", PATH, guard=signed_in_page)
async def save(request: Request, caller: Person) -> Response:
    """Turn the topics on that are ticked, and all others off."""
    ticked = set(request.form().all("topic"))
    muted = [name for name in TOPICS if name not in ticked]

    async def set_topics(work: Work) -> None:
        await users_store.set_muted_topics(work.tx, caller.user_id, muted)

    await request.transact(set_topics)
    return see_other(f"{PATH}?done=saved")
