"""Email: a transactional outbox, and the job that sends it."""
