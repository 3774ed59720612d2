"""The roles of the members of a merchant."""

from typing import Literal

Role = Literal["owner", "administrator", "finance", "support", "developer", "read_only"]
"""What a member may do.

owner: Everything.
administrator: Everything but ownership, closing the account, and administrators.
finance: Money in and out, and reports.
support: Payments, customers, and refunds up to a limit that an owner sets.
developer: Test mode, webhooks, logs, keys and applications, without scopes that write in live mode.
read_only: Reads.
"""
