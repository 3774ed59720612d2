"""The bank transfer rail: payment references, files of payouts, and statements."""
