"""The reference: a valid document, with every operation that is no page, every scope, and every refusal there may be."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, cast
from uuid import uuid4

import jsonschema_rs
import msgspec
import pytest
import yaml
from openapi_spec_validator import validate

from tests.cast import Actor
from tollhouse.http import openapi_sentences
from tollhouse.http.openapi_schemas import MEANINGS, Examples, ExampleValues
from tollhouse.http.operations import MCP, RAILS, Operation
from tollhouse.instance.api import OPERATIONS, reference
from tollhouse.instance.slices import EVENT_SPECS
from tollhouse.kernel.examples import example_id
from tollhouse.kernel.scopes import PERMISSIONS
from tollhouse.platform.settings import config
from tollhouse.webhooks.events.record import EVENT_TYPES, TEST_EVENT

JSON_OPERATIONS = [one for one in OPERATIONS if not one.surface.html and one.surface not in {MCP, RAILS}]


@pytest.fixture(scope="module")
def document() -> Any:
    """The document, as it is sent."""
    return msgspec.json.decode(reference.encoded(config.load({})))


def codes(shown: Any, status: int) -> list[str]:
    """The codes that an operation is said to refuse with at this status."""
    return list(shown["responses"][str(status)]["content"]["application/json"]["examples"])


def contents_of(document: Any) -> Iterator[tuple[str, Any]]:
    """Every body that is sent or answered, events included, with a name for it."""
    for methods in (*document["paths"].values(), *document["webhooks"].values()):
        for shown in methods.values():
            bodies = [shown.get("requestBody", {}), *shown["responses"].values()]
            for body in bodies:
                for content in body.get("content", {}).values():
                    yield shown["operationId"], content


def schemas_of(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every object of the document but examples, with its path."""
    if isinstance(value, dict):
        yield path, value
        for name, one in cast("dict[str, Any]", value).items():
            if name not in {"example", "examples", "default"}:
                yield from schemas_of(one, f"{path}.{name}")
    elif isinstance(value, list):
        for place, one in enumerate(cast("list[Any]", value)):
            yield from schemas_of(one, f"{path}.{place}")


def is_described(schema: Any) -> bool:
    """Whether it has a sentence, or one of its alternatives has."""
    return any(one.get("description", "").endswith((".", ")")) for one in (schema, *schema.get("anyOf", ())))


def test_every_member_parameter_and_value_has_a_sentence(document: Any) -> None:
    """100 %: what a stranger reads beside each name is plain English, or the reference is not finished."""
    counts, bare = Counter[str](), list[str]()

    def count(kind: str, name: str, *, is_described: bool) -> None:
        counts[kind] += 1
        if not is_described:
            bare.append(f"{kind} {name}")

    for path, shown in schemas_of(document):
        properties = cast("dict[str, Any]", shown.get("properties", {}))
        is_error_code = path.endswith("Refusal.allOf.1")  # the code has its page, and its message is in the response
        for name, member in () if is_error_code else properties.items():
            count("member", f"{path}.{name}", is_described=is_described(member))
        for one in shown.get("parameters", ()) if isinstance(shown.get("parameters"), list) else ():
            count("parameter", f"{path}.{one.get('name')}", is_described="$ref" in one or is_described(one | one["schema"]))
        for value in shown.get("enum", ()) if len(shown.get("enum", ())) > 1 else ():
            meaning = shown.get(MEANINGS, {}).get(str(value), "")
            count("value", f"{path}={value}", is_described=meaning.endswith("."))
    for name, header in (document["components"]["headers"] | document["components"]["parameters"]).items():
        count("header", name, is_described=is_described(header))
    for operation, status, said in error_lines(document):
        count("error", f"{operation} {status}", is_described=bool(said))
    assert bare == []
    assert min(counts[kind] for kind in ("member", "parameter", "value", "header", "error")) > 10, counts


def error_lines(document: Any) -> Iterator[tuple[str, str, str]]:
    """Operation, status and sentence of each error that the document names."""
    for methods in document["paths"].values():
        for shown in methods.values():
            for status, response in shown["responses"].items():
                for line in response["description"].splitlines() if int(status) >= 400 else ():
                    code, _, said = line.removeprefix("- `").partition("`: ")
                    assert code in response["content"]["application/json"]["examples"]
                    yield shown["operationId"], status, said


def test_values_with_the_same_names_and_other_meanings_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    declared = 'Two = Literal["{}", "{}"]\n"""Two values.\n\n{}: {}\n{}: Another.\n"""\n'
    texts = iter([declared.format("a", "b", "a", "One.", "b"), declared.format("b", "a", "b", "One.", "a")])

    def source(_module: str) -> str:
        return next(texts, "")

    monkeypatch.setattr(openapi_sentences, "_source", source)
    read: Any = openapi_sentences._vocabularies.__wrapped__  # pyright: ignore[reportPrivateUsage, reportFunctionMemberAccess]
    with pytest.raises(TypeError, match=r"other meanings of \['a', 'b'\]"):
        read()


def test_scopes_and_events_belong_to_their_operations(document: Any) -> None:
    shown = document["paths"]["/api/v2/integration/withdrawals"]["post"]
    assert shown["x-scopes"] == ["withdrawals:write"]
    assert shown["x-events"] == ["balance.updated", "withdrawal.processing", "withdrawal.completed", "withdrawal.failed"]
    assert "x-events" not in document["paths"]["/api/v2/integration/withdrawals"]["get"]
    named = {shown["operationId"] for methods in document["paths"].values() for shown in methods.values()}
    for spec in EVENT_SPECS:
        assert set(spec.after) <= named, spec.type


async def test_operations_cause_the_events_that_they_name(alice: Actor, document: Any) -> None:
    """What each request adds to the events of the merchant is among those of its operation."""
    named = {
        (method.upper(), path.removeprefix("/api/v2/integration")): set(shown.get("x-events", ()))
        for path, methods in document["paths"].items()
        for method, shown in methods.items()
    }
    caused = dict[str, set[str]]()
    counted = Counter[str]()

    async def send(path: str, body: dict[str, Any], **values: str) -> Any:
        nonlocal counted
        answer = await alice.post(path.format(**values), body, key=str(uuid4()))
        assert answer.status in {200, 201}, answer.raw
        rows = await alice.sql("SELECT type FROM webhook_events WHERE merchant_id = $1::uuid", alice.merchant_id)
        now = Counter(row["type"] for row in rows)
        caused[path] = set(now - counted)
        counted = now
        assert caused[path] <= named["POST", path], path
        return answer.body

    link = await send("/payment-links", {"display_name": "Tea", "amount": "20.00", "currency": "EUR"})
    paid = await send("/test/payment-links/{link_id}/simulate", {"outcome": "succeed"}, link_id=link["id"])
    refund = {"amount": "1.00", "reason": "other"}
    returned = await send("/transactions/{transaction_id}/refunds", refund, transaction_id=paid["id"])
    await send("/test/refunds/{refund_id}/simulate", {"outcome": "succeed"}, refund_id=returned["id"])
    await send("/conversions", {"from_currency": "EUR", "to_currency": "USD", "amount": "1.00"})
    wanted = {"amount": "5.00", "method_id": "sandbox:EUR", "receiver": "Nina Nowak"}
    out = await send("/withdrawals", wanted)
    await send("/test/withdrawals/{withdrawal_id}/simulate", {"outcome": "complete"}, withdrawal_id=out["id"])
    await send("/test/balances/fund", {"currency": "EUR", "amount": "1.00"})
    assert caused["/conversions"] == {"conversion.completed", "balance.updated"}
    assert "payment.succeeded" in caused["/test/payment-links/{link_id}/simulate"]


async def test_it_is_served_to_everybody(alice: Actor) -> None:
    answer = (await alice.anonymously("GET", "/openapi.json")).ok()
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert answer.body["servers"] == [{"url": alice.service.url}]
    assert answer.body["components"]["securitySchemes"]["session"]["name"] == "tollhouse_session"


@pytest.mark.long
async def test_it_is_served_as_yaml_too(alice: Actor) -> None:
    answer = (await alice.anonymously("GET", "/openapi.yaml")).ok()
    assert answer.headers["Content-Type"] == "application/yaml"
    assert yaml.load(answer.text, yaml.CSafeLoader) == (await alice.anonymously("GET", "/openapi.json")).ok().body
    assert "  /api/v2/integration/payment-links:\n    post:\n" in answer.text


@pytest.mark.parametrize(
    "value",
    [
        {},
        [],
        {"a": [], "b": {}, "yes": None, "200": 1, "a b": [[1, [2]], {"c": -1.5}], "/x/{id}": True, "$ref": "#/x"},
        ["- x", "a: b # c", "\x00\t\n\x7f\x85\u2028\ufeff", "caf\u00e9 \U0001f600", '"\\', "null", "0x10", ""],
        "alone",
    ],
)
def test_yaml_holds_what_json_holds(value: Any) -> None:
    assert yaml.safe_load(reference.as_yaml(value)) == value


@pytest.mark.long
def test_it_is_valid(document: Any) -> None:
    validate(document)
    assert document["openapi"] == "3.1.0"


@pytest.mark.parametrize("operation", JSON_OPERATIONS, ids=lambda one: f"{one.method} {one.full_path}")
def test_every_operation_is_in_it(document: Any, operation: Operation) -> None:
    shown = document["paths"][operation.full_path][operation.method.lower()]
    assert shown["operationId"].removeprefix(f"{operation.surface.name}_") == operation.handler.__name__
    assert shown["summary"] == operation.summary
    assert str(operation.status) in shown["responses"]
    for error in operation.errors:
        assert error.code in codes(shown, error.status)
    assert codes(shown, 500) == ["server_error"]
    assert "temporarily_unavailable" in codes(shown, 503)
    named = [parameter["name"] for parameter in shown["parameters"] if parameter["in"] == "path"]
    assert all(f"{{{name}}}" in operation.path for name in named)
    assert len(named) == operation.path.count("{")


def test_nothing_else_is_in_it_and_each_has_a_name_of_its_own(document: Any) -> None:
    names = [shown["operationId"] for methods in document["paths"].values() for shown in methods.values()]
    assert len(names) == len(JSON_OPERATIONS)
    names += [shown["operationId"] for methods in document["webhooks"].values() for shown in methods.values()]
    assert len(names) == len(set(names))


def test_every_scope_is_named_and_every_wanted_one_is_a_scope(document: Any) -> None:
    named = document["components"]["securitySchemes"]["access_token"]["flows"]["authorizationCode"]["scopes"]
    assert list(named) == [permission.scope for permission in PERMISSIONS]
    wanted = [
        scope
        for methods in document["paths"].values()
        for shown in methods.values()
        for alternative in shown["security"]
        for scope in alternative.get("access_token", ())
    ]
    assert set(wanted) <= set(named)


@pytest.mark.long
def test_every_example_fits_its_schema(document: Any) -> None:
    examples = [
        (name, content["schema"], content["example"]) for name, content in contents_of(document) if "example" in content
    ]
    for name, shown in document["components"]["examples"].items():
        said = shown["value"]
        shape = {"$ref": f"#/components/schemas/{said['error'].title().replace('_', '')}Refusal"}
        examples.append((name, shape, said))
    assert len(examples) > 200
    for name, schema, example in examples:
        validator = jsonschema_rs.validator_for({**schema, "components": document["components"]}, validate_formats=True)
        found = list(validator.iter_errors(example))
        assert not found, (name, found[0].message, list(found[0].instance_path))


def test_a_member_without_an_example_is_no_part_of_the_reference() -> None:
    """Of optional members null or nothing is shown; every other has its example at its field."""
    schema = {
        "type": "object",
        "properties": {
            "id": {"type": "string", "format": "uuid"},
            "note": {"type": "string", "examples": ["Ring twice."]},
            "said": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "floor": {"type": "integer"},
        },
        "required": ["id", "said"],
    }
    examples = Examples({"Visit": schema}, ExampleValues(members={}, minor={}))
    shown = {"id": example_id("Visit_id"), "note": "Ring twice.", "said": None}
    assert examples.of({"$ref": "#/components/schemas/Visit"}) == shown
    schema["required"] = ["floor"]
    with pytest.raises(TypeError, match="`floor` has no example"):
        examples.of({"$ref": "#/components/schemas/Visit"})


def test_the_sums_of_examples_are_right(document: Any) -> None:
    """What a payment brings, less its fee, is what reaches the balance."""
    shown = document["paths"]["/api/v2/integration/transactions/{transaction_id}"]["get"]["responses"]["200"]
    payment = shown["content"]["application/json"]["example"]
    assert payment["net_minor"] == payment["amount_received_minor"] - payment["fee_minor"]
    withdrawal = document["webhooks"]["withdrawal.completed"]["post"]["requestBody"]["content"]["application/json"][
        "example"
    ]
    sums = withdrawal["data"]["object"]
    assert sums["debit_minor"] == sums["receive_minor"] + sums["system_fee_minor"] + sums["network_fee_minor"]


def test_every_error_has_its_example_and_its_schema(document: Any) -> None:
    """A code is one schema; a sentence beside a code is one example."""
    schemas = document["components"]["schemas"]
    for name, content in contents_of(document):
        if "examples" in content:
            shapes = content["schema"].get("anyOf", [content["schema"]])
            said = [schemas[shape["$ref"].rpartition("/")[2]]["allOf"][1]["properties"]["error"]["enum"] for shape in shapes]
            assert said == [[code] for code in content["examples"]], name


def test_every_event_is_described(document: Any) -> None:
    assert list(document["webhooks"]) == [*EVENT_TYPES, TEST_EVENT]
    for name, methods in document["webhooks"].items():
        shown = methods["post"]
        sent = [parameter["$ref"].rpartition("/")[2] for parameter in shown["parameters"]]
        assert "X-Service-Signature" in sent
        example = shown["requestBody"]["content"]["application/json"]["example"]
        assert example["type"] == name


def test_it_tells_how_one_gets_in(document: Any) -> None:
    paths = document["paths"]
    assert paths["/api/v2/integration/payment-methods"]["get"]["security"] == [
        {"api_key": []},
        {"access_token": ["projects:read"]},
        {"access_token": ["settings:read"]},
    ]
    assert paths["/api/v2/integration/currencies"]["get"]["security"] == [{"api_key": []}, {"access_token": []}]
    assert paths["/api/v2/merchant/api-keys"]["get"]["security"] == [{"session": []}]
    assert paths["/api/v2/oauth/token"]["post"]["security"] == [{"client": []}, {}]
    assert paths["/api/v2/oauth/permissions"]["get"]["security"] == []


def test_it_tells_every_error_of_guard_decoding_and_key(document: Any) -> None:
    shown = document["paths"]["/api/v2/integration/webhook-events/{event_id}/redeliver"]["post"]
    assert codes(shown, 400) == ["invalid_request", "idempotency_key_invalid", "idempotency_key_required"]
    assert codes(shown, 401) == ["authentication_required", "invalid_token", "invalid_dpop_proof", "invalid_api_key"]
    assert codes(shown, 403) == ["network_not_allowed", "account_suspended", "application_suspended", "missing_scope"]
    assert codes(shown, 404) == ["not_found"]
    assert "idempotency_in_progress" in codes(shown, 409)
    assert codes(shown, 413) == ["payload_too_large"]
    assert codes(shown, 422) == ["validation_failed", "idempotency_key_reused"]
    assert codes(shown, 429) == ["rate_limited"]
    key = next(parameter for parameter in shown["parameters"] if parameter["in"] == "header")
    assert key["name"] == "Idempotency-Key"
    assert key["required"] is True
    saved = document["paths"]["/api/v2/merchant/oauth/clients/{client_id}"]["put"]
    of_session = ["cross_origin_forbidden", "account_suspended", "role_forbidden", "second_factor_missing"]
    assert codes(saved, 403) == [*of_session, "recent_authentication_required", "application_suspended"]
    assert codes(saved, 409) == ["application_revoked", "application_changed"]
    assert codes(saved, 415) == ["unsupported_media_type"]
    assert codes(saved, 422) == ["validation_failed"]


def test_forms_and_queries_are_described(document: Any) -> None:
    form = document["paths"]["/api/v2/oauth/token"]["post"]["requestBody"]
    assert list(form["content"]) == ["application/x-www-form-urlencoded"]
    asked = document["paths"]["/api/v2/oauth/authorize"]["get"]["parameters"]
    assert [parameter["name"] for parameter in asked if parameter["required"]] == [
        "response_type",
        "client_id",
        "redirect_uri",
        "scope",
        "state",
        "code_challenge",
        "code_challenge_method",
    ]
    page = document["paths"]["/api/v2/integration/ledger"]["get"]["parameters"]
    assert {"page", "limit", "source_id"} <= {item["name"] for item in page}
    assert not any(item["required"] for item in page)


def test_answers_say_what_is_always_there_and_what_is_a_time(document: Any) -> None:
    schemas = document["components"]["schemas"]
    assert "object" in schemas["TransactionView"]["required"]
    assert "client_secret" not in schemas["ClientView"]["required"]
    assert "oauth_client_id" not in schemas["AccountView"]["required"]
    assert schemas["LinkView"]["properties"]["created_at"]["format"] == "date-time"
    assert {"type": "string", "format": "date-time"} in schemas["LinkView"]["properties"]["canceled_at"]["anyOf"]
