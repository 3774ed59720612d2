"""The error of the demo."""

from tollhouse.platform.failure import Failure


class DemoError(Failure):
    """The demo could not be set up; the text says what failed, and how."""
