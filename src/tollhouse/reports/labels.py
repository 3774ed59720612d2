"""What the lines and columns of a report are called, in the words of the page and of its files."""

from collections.abc import Mapping

from tollhouse.reports.model import LineName

LINES: Mapping[LineName, str] = {
    "payments_gross": "Payments",
    "payment_fees": "Payment fees",
    "refunds": "Refunds",
    "chargebacks": "Chargebacks",
    "chargeback_fees": "Chargeback fees",
    "withdrawals": "Withdrawals",
    "withdrawal_fees": "Withdrawal fees",
    "conversions_in": "Conversions in",
    "conversions_out": "Conversions out",
    "conversion_fees": "Conversion fees",
    "fulfillments": "Fulfillments",
    "balance_payments_in": "Balance payments in",
    "balance_payments_out": "Balance payments out",
    "adjustments": "Adjustments",
}
COLUMNS = ("Opening", "Payments", "Fees", "Returned", "Withdrawals", "Other", "Closing")
METHOD_COLUMNS = ("Payments", "Gross", "Fees", "Returned", "Net")
TITLE = "Financial report"
TEST = "Test environment. No real money moved."
ALL_PROJECTS = "All projects"
CURRENCY, METHOD, NUMBER, AMOUNT, SHARE = "Currency", "Method", "Number", "Amount", "Of gross"
FROM, TO, DAY, MONTH = "From", "To", "Day", "Month"
TIME_ZONE, PROJECT, ENVIRONMENT = "Time zone", "Project", "Environment"
FEES_TOGETHER = "All fees"
LINES_OF = "Everything that changed the balance"
BY_CURRENCY, BY_METHOD, BY_DAY, BY_MONTH, FEES = "By currency", "By method", "By day", "By month", "Fees"
NOTHING = "Nothing was posted."
"""For a report without any currency."""
