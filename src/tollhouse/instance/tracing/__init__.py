"""Traces for OpenTelemetry: requests, their use of the database, and deliveries. Imported only while they are on."""
