"""Refunds and chargebacks: money that goes back to the customer."""
