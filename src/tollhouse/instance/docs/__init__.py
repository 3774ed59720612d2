"""The guide: what integrators read, served by the service itself from the Markdown files in `docs/`."""
