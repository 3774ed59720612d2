"""The titles of the kinds of notifications."""

from collections.abc import Mapping

from tollhouse.accounts.mail.model import NotificationKind

KIND_TITLES: Mapping[NotificationKind, str] = {
    "payment_needs_decision": "Payments that need a decision",
    "proposal_waiting": "Proposals that need a decision",
    "dispute_opened": "Disputes",
    "refund_failed": "Failed refunds",
    "withdrawal_reviewed": "Reviewed withdrawals",
    "withdrawal_completed": "Completed withdrawals",
    "withdrawal_failed": "Failed withdrawals",
    "second_member_needed": "Second members needed",
    "project_reviewed": "Reviewed projects",
    "webhooks_failing": "Failing webhooks",
    "connection_opened": "Connected applications",
    "connection_ended": "Disconnected applications",
    "connection_expiring": "Connections that end soon",
    "new_device": "New devices",
    "member_changed": "Changes of members",
}
