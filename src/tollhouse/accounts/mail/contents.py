"""The content of every email, described once: the plain text and the HTML are rendered from it.

Values in it are not translated and not trusted: `Text` keeps them apart from the wording, and the HTML escapes them.
"""

from collections.abc import Callable, Mapping

from tollhouse.accounts.mail.address_contents import CONTENTS as ADDRESS
from tollhouse.accounts.mail.content_model import Button, EmailContent, EmailValues, Facts
from tollhouse.accounts.mail.factor_contents import CONTENTS as OF_FACTORS
from tollhouse.accounts.mail.factor_contents import not_you
from tollhouse.accounts.mail.model import EmailKind
from tollhouse.accounts.mail.team_contents import CONTENTS as TEAM
from tollhouse.kernel.text import Text, as_text


def foot_of(values: EmailValues) -> Text:
    """The last paragraph of every email."""
    return Text("Tollhouse at %(site)s sent this email. Replies are not read.", site=values.base_url)


def _verify(values: EmailValues) -> EmailContent:
    return EmailContent(
        Text("Verify your email address"),
        (
            Text(
                "A merchant account was created at %(site)s with this email address. To verify the address, open this link:",
                site=values.base_url,
            ),
            Button(Text("Verify email address"), values.link),
            Text("The link works once, until %(moment)s.", moment=values.useful_until),
            Text("If you did not create this account, ignore this email."),
        ),
    )


def _reset(values: EmailValues) -> EmailContent:
    return EmailContent(
        Text("Reset your password"),
        (
            Text(
                "A password reset was requested at %(site)s for the account with this email address. "
                "To choose a new password, open this link:",
                site=values.base_url,
            ),
            Button(Text("Reset password"), values.link),
            Text("The link works once, until %(moment)s.", moment=values.useful_until),
            Text("If you did not request this, ignore this email. Your password stays the same."),
        ),
    )


def _password_changed(values: EmailValues) -> EmailContent:
    changed = Text(
        "The password of your account was changed on %(moment)s. All other sessions were signed out.",
        moment=values.created_at,
    )
    return EmailContent(Text("Your password was changed"), (changed, *not_you(values)))


def _new_device(values: EmailValues) -> EmailContent:
    return EmailContent(
        Text("New sign-in to your account"),
        (
            Text("A new device signed in to your account on %(moment)s:", moment=values.created_at),
            Text("%(device)s, %(address)s", device=_device(values.facts), address=values.facts["address"]),
            Text("If this was you, you can ignore this email. If not, sign out that session and change your password:"),
            Button(Text("View sessions"), f"{values.base_url}/settings/sessions"),
        ),
    )


def _receipt(values: EmailValues) -> EmailContent:
    facts = values.facts
    rows = (
        (Text("Receipt number"), facts["number"]),
        (Text("Product"), facts["product"]),
        (Text("Total paid"), facts["amount"]),
        (Text("Paid"), facts["paid_at"]),
        (Text("Sold by"), facts["seller"]),
    )
    test = (Text("This is a test payment. No real money was moved."),) if facts["test"] else ()
    return EmailContent(
        Text("Receipt %(number)s from %(shop)s", number=facts["number"], shop=facts["shop"]),
        (
            Text("Thank you for your payment of %(amount)s to %(shop)s.", amount=facts["amount"], shop=facts["shop"]),
            *test,
            Facts(rows),
            Text("To view, print or download the receipt, open this page:"),
            Button(Text("View receipt"), values.base_url + facts["path"]),
            Text("You receive this email because this address was entered for the payment. If it was not you, ignore it."),
        ),
    )


def _recipient_added(values: EmailValues) -> EmailContent:
    facts = values.facts
    rows = (
        (Text("Name"), facts["name"]),
        (Text("Account"), facts["account"]),
        (Text("Method"), facts["method"]),
        (Text("Can be paid from"), facts["active_at"]),
    )
    return EmailContent(
        Text("A withdrawal recipient was added"),
        (
            Text("A recipient of withdrawals was added to your account on %(moment)s:", moment=values.created_at),
            Facts(rows),
            _actor(facts),
            Text("If you do not recognize it, delete it before it can be paid, and change your password and API keys:"),
            Button(Text("View recipients"), values.base_url + facts["path"]),
        ),
    )


def _recipients_only_off(values: EmailValues) -> EmailContent:
    facts = values.facts
    return EmailContent(
        Text("Withdrawals to any recipient will be allowed"),
        (
            Text(
                "The limit to saved recipients was turned off for your account on %(moment)s. Until %(end)s, withdrawals "
                "still go only to saved recipients.",
                moment=values.created_at,
                end=facts["turns_off_at"],
            ),
            _actor(facts),
            Text("If you do not recognize this, turn the limit on again at once, and change your password and API keys:"),
            Button(Text("View recipients"), values.base_url + facts["path"]),
        ),
    )


def _schedule_failed(values: EmailValues) -> EmailContent:
    facts = values.facts
    return EmailContent(
        Text("A scheduled withdrawal was not created"),
        (
            Text("The withdrawal that was scheduled for %(moment)s was not created:", moment=facts["due_at"]),
            Text("%(reason)s", reason=facts["reason"]),
            Text("No money left your balance. To withdraw it now, open this page:"),
            Button(Text("View withdrawals"), f"{values.base_url}/live/withdrawals"),
        ),
    )


def _actor(facts: Mapping[str, str]) -> Text:
    match facts["by_kind"]:
        case "person":
            return Text("%(email)s did this in the dashboard.", email=facts["by"])
        case "application":
            return Text("The application %(client_id)s did this.", client_id=facts["by"])
        case _:
            return Text("An API key did this.")


def _device(facts: Mapping[str, str]) -> Text | str:
    browser, system = facts["browser"], facts["system"]
    if browser and system:
        return Text("%(browser)s on %(system)s", browser=browser, system=system)
    return browser or system or as_text("Unknown device")


def _notification(subject: Text, sentence: Text, button: Text, values: EmailValues) -> EmailContent:
    """What happened, the reason if there is one, the page about it, and where to turn such emails off."""
    reason = values.facts.get("reason")
    return EmailContent(
        subject,
        (
            sentence,
            *((Text("Reason: %(reason)s", reason=reason),) if reason else ()),
            Button(button, values.base_url + values.facts["path"]),
            Text("You can turn off emails like this one in the settings of your account, under Notifications."),
        ),
    )


def _dispute_opened(values: EmailValues) -> EmailContent:
    amount, respond_by = values.facts["amount"], values.facts["respond_by"]
    sentence = Text("A customer disputed a payment. %(amount)s and the fee were taken from your balance.", amount=amount)
    if respond_by:
        sentence = Text(
            "A customer disputed a payment of %(amount)s. Respond by %(moment)s; without a response you lose the amount.",
            amount=amount,
            moment=respond_by,
        )
    return _notification(Text("A payment was disputed: %(amount)s", amount=amount), sentence, Text("View dispute"), values)


def _withdrawal_completed(values: EmailValues) -> EmailContent:
    amount, account = values.facts["amount"], values.facts["account"]
    sentence = Text("Your withdrawal of %(amount)s to %(account)s was sent.", amount=amount, account=account)
    return _notification(Text("Withdrawal completed: %(amount)s", amount=amount), sentence, Text("View withdrawal"), values)


def _withdrawal_failed(values: EmailValues) -> EmailContent:
    amount, account = values.facts["amount"], values.facts["account"]
    sentence = Text(
        "Your withdrawal of %(amount)s to %(account)s failed. The amount is available in your balance again.",
        amount=amount,
        account=account,
    )
    return _notification(Text("Withdrawal failed: %(amount)s", amount=amount), sentence, Text("View withdrawal"), values)


def _withdrawal_rejected(values: EmailValues) -> EmailContent:
    amount, account = values.facts["amount"], values.facts["account"]
    sentence = Text(
        "Your withdrawal of %(amount)s to %(account)s was rejected in review. "
        "The amount is available in your balance again.",
        amount=amount,
        account=account,
    )
    return _notification(Text("Withdrawal rejected: %(amount)s", amount=amount), sentence, Text("View withdrawal"), values)


def _refund_failed(values: EmailValues) -> EmailContent:
    amount = values.facts["amount"]
    sentence = Text("A refund of %(amount)s failed. The customer did not get the money.", amount=amount)
    return _notification(Text("Refund failed: %(amount)s", amount=amount), sentence, Text("View payment"), values)


def _project_approved(values: EmailValues) -> EmailContent:
    name = values.facts["name"]
    sentence = Text("Your project %(name)s was approved. It can accept live payments.", name=name)
    return _notification(Text("Project approved: %(name)s", name=name), sentence, Text("View project"), values)


def _project_rejected(values: EmailValues) -> EmailContent:
    name = values.facts["name"]
    sentence = Text("Your project %(name)s was rejected. Change it to submit it for review again.", name=name)
    return _notification(Text("Project rejected: %(name)s", name=name), sentence, Text("View project"), values)


def _project_changes_approved(values: EmailValues) -> EmailContent:
    name = values.facts["name"]
    sentence = Text("The changes of your project %(name)s were approved. Customers see them now.", name=name)
    return _notification(Text("Changes approved: %(name)s", name=name), sentence, Text("View project"), values)


def _project_changes_rejected(values: EmailValues) -> EmailContent:
    name = values.facts["name"]
    sentence = Text("The changes of your project %(name)s were rejected. It stays as it was approved.", name=name)
    return _notification(Text("Changes rejected: %(name)s", name=name), sentence, Text("View project"), values)


def _webhooks_failing(values: EmailValues) -> EmailContent:
    sentence = Text(
        "For an hour, no webhook event could be delivered to your server. Events are kept, and delivery is repeated "
        "automatically."
    )
    return _notification(Text("Webhook events are not delivered"), sentence, Text("View events"), values)


def _application_connected(values: EmailValues) -> EmailContent:
    name, email = values.facts["name"], values.facts["by"]
    sentence = Text(
        "%(email)s allowed the application %(name)s to access your account in live mode.", email=email, name=name
    )
    return _notification(Text("Application connected: %(name)s", name=name), sentence, Text("View applications"), values)


def _application_disconnected(values: EmailValues) -> EmailContent:
    name = values.facts["name"]
    sentence = Text("The application %(name)s cannot access your account in live mode any more.", name=name)
    return _notification(Text("Application disconnected: %(name)s", name=name), sentence, Text("View applications"), values)


def _application_expiring(values: EmailValues) -> EmailContent:
    facts = values.facts
    return EmailContent(
        Text("Access of %(name)s ends on %(day)s", name=facts["name"], day=facts["day"]),
        (
            Text(
                "The application %(name)s can access your account in live mode until %(day)s. After that, its access ends. "
                "Payments, withdrawals and reserved amounts stay as they are.",
                name=facts["name"],
                day=facts["day"],
            ),
            Text("To keep it connected, renew the connection. To let it end, do nothing. This page shows what it may do:"),
            Button(Text("Renew connection"), values.base_url + facts["path"]),
            Text("You can turn off emails like this one in the settings of your account, under Notifications."),
        ),
    )


def _application_reported(values: EmailValues) -> EmailContent:
    name = values.facts["name"]
    return EmailContent(
        Text("Application reported: %(name)s", name=name),
        (
            Text("A merchant reported the application %(name)s. The reasons of all reports are on its page:", name=name),
            Button(Text("View application"), values.base_url + values.facts["path"]),
            Text("Further reports about it today send no email."),
        ),
    )


PROPOSED: Mapping[str, Text] = {
    "withdrawals": Text("Withdrawal"),
    "refunds": Text("Refund"),
    "balance_payments": Text("Balance payment"),
    "conversions": Text("Conversion"),
    "fulfillments": Text("Fulfillment"),
}


def _proposal_waiting(values: EmailValues) -> EmailContent:
    facts = values.facts
    rows = (
        (Text("Proposed by"), facts["name"]),
        (Text("Amount"), facts["amount"]),
        (Text("To"), facts["account"]),
    )
    return EmailContent(
        Text("%(operation)s: a proposal needs your decision", operation=PROPOSED[facts["operation"]]),
        (
            Text("A proposal was made on %(moment)s. Nothing happens until you approve it:", moment=values.created_at),
            Facts(tuple(row for row in rows if row[1])),
            Button(Text("View proposal"), values.base_url + facts["path"]),
            Text("While this proposal waits, you get no email about others. It expires 7 days after it was made."),
            Text("You can turn off emails like this one in the settings of your account, under Notifications."),
        ),
    )


CONTENTS: Mapping[EmailKind, Callable[[EmailValues], EmailContent]] = {
    "verify": _verify,
    "reset": _reset,
    "password_changed": _password_changed,
    "new_device": _new_device,
    "receipt": _receipt,
    "recipient_added": _recipient_added,
    "recipients_only_off": _recipients_only_off,
    "schedule_failed": _schedule_failed,
    "dispute_opened": _dispute_opened,
    "withdrawal_completed": _withdrawal_completed,
    "withdrawal_failed": _withdrawal_failed,
    "withdrawal_rejected": _withdrawal_rejected,
    "refund_failed": _refund_failed,
    "project_approved": _project_approved,
    "project_rejected": _project_rejected,
    "project_changes_approved": _project_changes_approved,
    "project_changes_rejected": _project_changes_rejected,
    "webhooks_failing": _webhooks_failing,
    "application_connected": _application_connected,
    "application_disconnected": _application_disconnected,
    "application_expiring": _application_expiring,
    "application_reported": _application_reported,
    "proposal_waiting": _proposal_waiting,
    **OF_FACTORS,
    **TEAM,
    **ADDRESS,
}
"""The content of each kind."""
