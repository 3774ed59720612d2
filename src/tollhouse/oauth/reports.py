"""Reporting an application to the operators, by a merchant."""

from tollhouse.accounts.audit import record
from tollhouse.accounts.audit.model import new_values
from tollhouse.accounts.mail import store as outbox
from tollhouse.accounts.mail.model import Email, mail_name
from tollhouse.http.languages import ENGLISH
from tollhouse.http.services import Work
from tollhouse.kernel import messages
from tollhouse.kernel.errors import FieldError, NotFound, ValidationFailed
from tollhouse.kernel.ids import ClientId, MerchantId
from tollhouse.kernel.limits import DESCRIPTION_CHARS_MAX
from tollhouse.kernel.names import LINE_FEEDS, is_readable
from tollhouse.oauth import reports_store


async def report(work: Work, merchant_id: MerchantId, client_id: str, reason: str) -> bool:
    """Report an application, and email the operators about the first report of a day; False if the merchant did today.

    Raises `ValidationFailed` and `NotFound`.
    """
    reason = reason.replace("\r\n", "\n").strip()
    if not reason:
        raise ValidationFailed(FieldError("reason", "missing", messages.REQUIRED))
    if len(reason) > DESCRIPTION_CHARS_MAX:
        raise ValidationFailed(FieldError("reason", "invalid_length", messages.characters(1, DESCRIPTION_CHARS_MAX)))
    if not is_readable(reason, LINE_FEEDS):
        raise ValidationFailed(FieldError("reason", "invalid_value", messages.READABLE))
    name = await reports_store.get_name(work.tx, client_id)
    if name is None:
        raise NotFound
    client = ClientId(client_id)
    if not await reports_store.insert(work.tx, client, merchant_id, reason, work.now):
        return False
    # Nothing below this line may refuse.
    await record.event(
        work, merchant_id, "application.reported", subject=client_id, name=name, changed=new_values(reason=reason)
    )
    if await reports_store.is_first(work.tx, client, work.now):
        facts = {"name": mail_name(name), "path": f"/operator/applications/{client_id}"}
        operators = await reports_store.list_operators(work.tx)
        emails = [Email("application_reported", address, ENGLISH, None, facts) for address in operators]
        await outbox.enqueue_all(work.tx, emails, work.now)
    return True
