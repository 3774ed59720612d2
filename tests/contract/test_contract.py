"""Thousands of requests made from the reference: never a fault of ours, never an answer that it does not tell of.

Of four requests one goes out as it was made. The others get ids that are there, and two of them a good body or query,
one of these with a member of the made one in it: so that requests come through every door, and into every room behind.
What is made with a body goes out in all four ways, since making it takes longer than sending it.
"""

import os
from base64 import b64encode
from collections import Counter
from http.cookiejar import DefaultCookiePolicy
from itertools import groupby
from typing import Any, cast
from zlib import crc32

import msgspec
import pytest
import requests
import schemathesis
from schemathesis import checks
from schemathesis.config import SchemathesisConfig
from schemathesis.core import NotSet
from schemathesis.core.failures import FailureGroup
from schemathesis.generation.meta import TestPhase

from tests.contract.people import SENDERS
from tests.contract.standing import Standing
from tollhouse.instance.api import reference
from tollhouse.platform.settings import config

SEED = int(os.environ.get("CONTRACT_SEED", "20261121"))
CASES = int(os.environ.get("CONTRACT_CASES", "0"))
"""At least so many in all, for every operation alike, and others with each seed: set by `python -m tests.contract`."""
CASES_MIN = 5_000
DEVICE = {"client_id": "tollhouse-cli", "scope": "account:read", "mode": "test"}
OURS = ("oauth", "authorize", "dashboard")
EXAMPLES = {
    25: ("sign_up", "sign_in"),  # each hashes a password
    80: (
        "show_client",
        "revoke_client",
        "revoke_api_key",
        "disconnect_one",
        "disconnect_all",
        "withdraw_grant",
        "delete_customer_note",
        *SENDERS,
    ),
    90: (
        "read_owned_balance_payment",
        "capture_owned_balance_payment",
        "release_owned_balance_payment",
        "refund_owned_balance_payment",
    ),
    350: ("register_client", "save_client", "give_back"),
    500: ("issue", "start"),
}
"""How many requests are sent to an operation, beside its edge cases."""
EXAMPLES_OF_OURS, EXAMPLES_OF_OTHERS = 120, 12
WAYS = 4
LEARNT_NOTHING = {"responses": False}
"""Ids differ from run to run: what is made of earlier answers would not be the same each time."""
CHECKED = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
    "allow_header_conformance",
)

pytestmark = pytest.mark.xdist_group("contract")
document = msgspec.json.decode(reference.encoded(config.load({})))
operations = {shown["operationId"]: shown for methods in document["paths"].values() for shown in methods.values()}
answered: dict[str, Counter[int]] = {}
"""How often each operation answered with each status."""


def is_ours(name: str) -> bool:
    """Whether it is an operation of OAuth or the dashboard."""
    return bool(set(OURS) & set(operations[name]["tags"]))


def ways(name: str) -> int:
    """In how many ways a made request goes out: all where most of them replace its body or query."""
    return WAYS if "requestBody" in operations[name] or name == "start" else 1


def examples(name: str) -> int:
    """How many requests are made for an operation beside its edge cases, which make up for those that have fewer."""
    sent = EXAMPLES_OF_OURS if is_ours(name) else EXAMPLES_OF_OTHERS
    sent = next((count for count, names in EXAMPLES.items() if name in names), sent)
    return -(-(-(-CASES // len(operations)) if CASES else sent) // ways(name))


def cases_of(described: Any) -> Any:
    """The requests that a document asks to be tried; the same ones each time."""
    settings = {
        "seed": SEED,
        "generation": {
            "deterministic": not CASES,
            "database": "none",
            "with-security-parameters": False,
        },
        "phases": {
            "coverage": {"extra-data-sources": LEARNT_NOTHING},
            "fuzzing": {"extra-data-sources": LEARNT_NOTHING, "error-feedback": {"enabled": False}},
        },
        "operations": [
            {"include-operation-id": list(names), "generation": {"max-examples": count}}
            for count, names in groupby(sorted(operations, key=examples), examples)
        ],
    }
    chosen = SchemathesisConfig.from_dict(settings)  # pyright: ignore[reportUnknownMemberType]
    return schemathesis.openapi.from_dict(described, config=chosen)


checks.load_all_checks()
checked: list[Any] = checks.CHECKS.get_by_names(CHECKED)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
line = requests.Session()
line.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))


@cases_of(document).parametrize()
def test_every_answer_is_in_the_reference(case: Any, standing: Standing) -> None:
    first = crc32(repr(case).encode())
    name = case.operation.definition.raw["operationId"]
    made = case.path_parameters, case.query, case.body
    for turn in range(first, first + (ways(name) if case.meta.phase.name == TestPhase.FUZZING else 1)):
        if turn % 4:
            improve(case, name, standing, turn)
        send(case, standing, turn)
        case.path_parameters, case.query, case.body = made


def test_there_were_enough() -> None:
    for name, statuses in sorted(answered.items()):
        print(f"{name:24}", dict(sorted(statuses.items())))  # noqa: T201 - shown by `pytest -rP`
    if len(answered) < len(operations):
        pytest.skip("only a part was tried")
    if CASES:
        assert sum(statuses.total() for statuses in answered.values()) >= CASES
        return
    assert sum(statuses.total() for name, statuses in answered.items() if is_ours(name)) >= CASES_MIN


@pytest.mark.skipif(bool(CASES), reason="with another seed chance decides what succeeds")
def test_every_action_was_done() -> None:
    """Requests that are all refused would prove little."""
    assert [name for name in sorted(answered) if is_ours(name) and not answered[name][done(name)]] == []


def done(name: str) -> int:
    """The status that says that an operation was done."""
    return int(next(status for status in operations[name]["responses"] if status < "4"))


def test_a_response_that_is_not_documented_is_noticed(standing: Standing) -> None:
    path = "/api/v2/merchant/session"
    shown = document["paths"][path]["get"]
    forgetful = {**document, "paths": {path: {"get": {**shown, "responses": {"200": shown["responses"]["200"]}}}}}
    case = cases_of(forgetful)[path]["GET"].Case()
    with pytest.raises(FailureGroup) as failed:
        case.call_and_validate(base_url=standing.service.url, session=line, checks=checked)
    assert "401" in str(failed.value.exceptions[0])


def send(case: Any, standing: Standing, turn: int) -> None:
    """Send it, hold the answer against the reference, and count it."""
    shown = case.operation.definition.raw
    answer = case.call_and_validate(
        base_url=standing.service.url,
        session=line,
        headers=credentials(shown, standing, turn),
        checks=checked,
        allow_redirects=False,
        timeout=30,
    )
    answered.setdefault(shown["operationId"], Counter())[answer.status_code] += 1


def improve(case: Any, name: str, standing: Standing, turn: int) -> None:
    """Ids that are there, and in two of three cases a good body or query."""
    if case.path_parameters:
        there = standing.path_values(name)
        case.path_parameters = {key: there.get(key, value) for key, value in case.path_parameters.items()}
    if turn % 4 == 1:
        return
    if name == "start":
        case.query = standing.authorize_query() | one_of(case.query, turn)
    elif name == "issue":
        case.body = (standing.code_form() if turn & 4 else standing.refresh_form()) | one_of(case.body, turn)
    elif name == "authorize_device":
        case.body = DEVICE | one_of(case.body, turn)
    elif not isinstance(case.body, NotSet):
        good = standing.good_body(name, case.path_parameters)
        case.body = case.body if good is None else good | one_of(case.body, turn)


def one_of(made: Any, turn: int) -> dict[str, Any]:
    """Every other time, one member of what was made."""
    if turn % 4 == 2 or not isinstance(made, dict) or not made:
        return {}
    members = sorted(cast("dict[str, Any]", made).items())
    return dict([members[turn // 8 % len(members)]])


def credentials(shown: Any, standing: Standing, turn: int) -> dict[str, str]:
    """The headers that get this case in; a few cases come without."""
    if turn % 31 == 0:
        return {}
    name, wanted = shown["operationId"], {scheme for alternative in shown["security"] for scheme in alternative}
    sent: dict[str, str] = {}
    if name in SENDERS or "session" in wanted:
        sent["Cookie"] = standing.cookie(name)
    elif "api_key" in wanted and turn & 8:
        sent["X-API-Key"] = standing.api_key
    elif "access_token" in wanted:
        sent["Authorization"] = f"Bearer {standing.token}"
    elif "client" in wanted and turn % 4 == 1:
        sent["Authorization"] = "Basic " + b64encode(":".join(standing.basic).encode()).decode()
    return sent
