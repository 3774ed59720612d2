"""Card payments on a provider's page: its signed events, and the jobs that read what they are about."""
