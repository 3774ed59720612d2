"""E-mail: an outbox that deeds write into with what they did, and the worker that sends what stands in it."""
