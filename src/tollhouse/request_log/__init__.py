"""The log of API requests: what a merchant's credentials asked of the Integration API in the last days, redacted."""
