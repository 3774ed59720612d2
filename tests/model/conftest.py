"""Asserts of the state machine tell what differed."""

import pytest

pytest.register_assert_rewrite("tests.model.comparing", "tests.model.reality", "tests.model.steps")
