"""When emails are sent, in words."""

from collections.abc import Mapping

from tollhouse.accounts.notifications.model import MailChoice

CHOICES: Mapping[MailChoice, str] = {"immediate": "At once", "daily": "Once a day", "never": "Never"}
