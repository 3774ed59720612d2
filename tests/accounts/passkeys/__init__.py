"""Passkeys: the specification, the interface, races, and journeys with a virtual authenticator."""
