"""Labels of the lines and columns of a report, on the page and in its files."""

from collections.abc import Mapping

from tollhouse.ledger.reports.model import LineName

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
COLUMNS = ("Opening", "Payments", "Fees", "Reversals", "Withdrawals", "Other", "Closing")
METHOD_COLUMNS = ("Payments", "Gross", "Fees", "Reversals", "Net")
TITLE = "Financial report"
TEST = "Test environment. No real money was moved."
ALL_PROJECTS = "All projects"
CURRENCY, METHOD, NUMBER, AMOUNT, SHARE = "Currency", "Method", "Count", "Amount", "Share of gross"
FROM, TO, DAY, MONTH = "From", "To", "Day", "Month"
TIME_ZONE, PROJECT, ENVIRONMENT = "Time zone", "Project", "Environment"
TOTAL_FEES = "Total fees"
BALANCE_CHANGES = "Balance changes"
BY_CURRENCY, BY_METHOD, BY_DAY, BY_MONTH, FEES = "By currency", "By method", "By day", "By month", "Fees"
NO_ENTRIES = "No entries in this period."
