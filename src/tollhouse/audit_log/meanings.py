"""What the audit log says of each deed, of those who do them, and of what they change, in the words of its page."""

from collections.abc import Mapping

from tollhouse.audit.author import AuthorKind
from tollhouse.audit.deeds import Deed, Topic

TOPICS: Mapping[Topic, str] = {
    "access": "Account and access",
    "keys": "Keys for the API",
    "applications": "Applications and connections",
    "webhooks": "Webhooks",
    "settings": "Settings and projects",
    "money": "Money",
}
AUTHORS: Mapping[AuthorKind, str] = {
    "person": "Any person",
    "api_key": "Any key",
    "application": "Any application",
    "operator": "Operator of this server",
    "system": "This server by itself",
}
ENVIRONMENTS: Mapping[str, str] = {"test": "Test", "live": "Live", "account": "Whole account"}
DEEDS: Mapping[Deed, str] = {
    "account.opened": "Account opened",
    "account.suspended": "Account suspended",
    "account.reactivated": "Account reactivated",
    "session.begun": "Signed in",
    "session.ended": "Signed out",
    "session.others_ended": "Signed out everywhere else",
    "second_factor.on": "Second factor switched on",
    "second_factor.off": "Second factor switched off",
    "second_factor.codes_renewed": "Backup codes made anew",
    "second_factor.refused": "Wrong code of the second factor",
    "second_factor.removed": "Second factor taken away",
    "proof.refused": "Wrong password when asked again",
    "api_key.made": "Key for the API made",
    "api_key.revoked": "Key for the API revoked",
    "application.registered": "Application registered",
    "application.changed": "Application changed",
    "application.paused": "Application paused",
    "application.resumed": "Application resumed",
    "application.secret_replaced": "Secret of the application replaced",
    "application.revoked": "Application revoked for ever",
    "application.connection_ended": "Connection of the application ended",
    "application.connections_ended": "All connections of the application ended",
    "grant.given": "Application connected",
    "grant.ended": "Application disconnected",
    "webhooks.saved": "Webhook settings saved",
    "webhooks.off": "Webhook delivery switched off",
    "webhooks.on": "Webhook delivery switched on",
    "webhooks.secret_replaced": "New signing secret for webhooks",
    "webhooks.secret_prepared": "Signing secret for webhooks prepared",
    "webhooks.secret_activated": "Prepared signing secret activated",
    "settings.payments_saved": "Payment settings saved",
    "settings.business_saved": "Business settings saved",
    "project.opened": "Project opened",
    "project.changed": "Project changed",
    "project.approved": "Project approved",
    "project.rejected": "Project rejected",
    "payment.accepted": "Payment accepted",
    "refund.requested": "Refund requested",
    "withdrawal.requested": "Withdrawal requested",
    "withdrawal.canceled": "Withdrawal canceled",
    "withdrawal.approved": "Withdrawal approved",
    "withdrawal.rejected": "Withdrawal rejected",
    "conversion.made": "Money converted",
    "rule.made": "Conversion rule made",
    "rule.changed": "Conversion rule changed",
    "rule.ended": "Conversion rule deleted",
    "fulfillment.ordered": "Fulfillment ordered",
    "fulfillment.canceled": "Fulfillment canceled",
    "balance.adjusted": "Balance adjusted",
}
FIELDS: Mapping[str, str] = {
    "amount": "Amount",
    "branding.accent_color": "Color of the checkout",
    "branding.display_name": "Name at the checkout",
    "branding.logo_url": "Logo",
    "branding.support_email": "Address for questions",
    "business_name": "Business name",
    "cancel_url": "Address after canceling",
    "client_type": "Client type",
    "connection": "Connection",
    "connections": "Connections",
    "connections_ended": "All connections ended",
    "default_currency": "Default currency",
    "delivery": "Delivery",
    "description": "Description",
    "enabled": "Enabled",
    "event_types": "Event types",
    "external_id": "External ID",
    "from_currency": "From",
    "late_monitoring_days": "Days in which late payments are seen",
    "late_payments": "Late payments",
    "link_expiry_minutes": "Minutes until a link expires",
    "method_id": "Method",
    "name": "Name",
    "overpayment": "Overpayment",
    "payment_methods": "Methods offered",
    "percent": "Percent",
    "product_id": "Product",
    "quantity": "Quantity",
    "reason": "Reason",
    "received": "Received",
    "redirect_uris": "Callback addresses",
    "scopes": "Permissions",
    "sessions": "Sessions",
    "status": "Status",
    "success_url": "Address after paying",
    "threshold": "Threshold",
    "time_zone": "Time zone",
    "to_currency": "To",
    "trigger": "Trigger",
    "underpayment_tolerance_bps": "Underpayment tolerated, in basis points",
    "webhook_url": "Webhook address",
    "website_url": "Website",
}
CONFIRMATIONS = "confirmations."
"""What begins so has the name of a network behind it."""


def field(name: str) -> str:
    """What a field is called on the page; one that nobody has named as it is."""
    if name.startswith(CONFIRMATIONS):
        return f"Confirmations on {name.removeprefix(CONFIRMATIONS)}"
    return FIELDS.get(name, name)
