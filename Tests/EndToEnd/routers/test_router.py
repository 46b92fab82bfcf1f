# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Routers over real servers: defined by clients, loaded from files, made of OpenAPI documents, called from shells."""

import json
import subprocess

import contract
import pytest
from shell import outrider

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

PETS = """
openapi: 3.0.3
info: {title: Pets, version: "1"}
servers: [{url: "ORIGIN/"}]
components:
  parameters:
    limit: {name: limit, in: query, schema: {type: integer, minimum: 1, maximum: 100}}
  schemas:
    pet:
      type: object
      required: [name]
      properties:
        name: {type: string, pattern: "^[a-z]+$"}
        born: {type: string, pattern: "(?=x)"}
        tag: {$ref: "#/components/schemas/tag"}
    tag: {type: string, nullable: true}
paths:
  /echo/pets:
    parameters: [{$ref: "#/components/parameters/limit"}]
    get:
      operationId: listPets
      parameters:
        - {name: ids, in: query, explode: false, schema: {type: array, items: {type: integer}}}
        - {name: X-Trace, in: header, schema: {type: string}}
        - {name: session, in: cookie, schema: {type: string}}
      responses: {"200": {description: ok, content: {application/json: {}}}}
    post:
      requestBody:
        required: true
        content: {application/json: {schema: {$ref: "#/components/schemas/pet"}}}
      responses: {"200": {description: ok}}
  /echo/pets/{pet/Id}:
    get: {operationId: broken, responses: {}}
  /json:
    get: {operationId: json, servers: [{url: "ORIGIN/"}], security: [{key: []}], responses: {}}
"""


def define(wire, origin, **endpoints):
    return wire.call("router.define", {"name": "api", "baseUrl": origin, "endpoints": endpoints})["result"]["router"]


def send(wire, endpoint, params=None, router="api", **overrides):
    call = {"router": router, "endpoint": endpoint, "params": params or {}}
    return wire.call("router.send", {**call, "overrides": overrides} if overrides else call)


def echoed(reply):
    return json.loads(json.dumps(reply["result"]["body"]["json"]))


def test_an_endpoint_is_sent_with_its_parameters_in_place(wire, origin):
    """[E3] [E4] [T7]"""
    define(
        wire,
        origin,
        make={
            "method": "PUT",
            "path": "/echo/{id}",
            "places": {"page": "query", "trace": {"in": "header", "name": "X-Trace"}, "thing": "body"},
        },
    )
    got = echoed(send(wire, "make", {"id": "a/b", "page": 2, "trace": "t", "thing": {"a": [1]}}))
    assert got["method"] == "PUT" and got["target"] == "/echo/a%2Fb?page=2"
    assert "X-Trace" in json.dumps(got["headers"])
    assert json.loads(got["body"]) == {"a": [1]}


@pytest.mark.parametrize("method", ["", "G ET", "CONNECT", "M" * 65])
def test_a_method_that_cannot_be_sent_is_told_by_the_definition(wire, origin, method):
    for pointer, parts in [
        ("/endpoints/one/method", {"endpoints": {"one": {"path": "/echo", "method": method}}}),
        ("/defaults/method", {"defaults": {"method": method}, "endpoints": {}}),
    ]:
        error = wire.call("router.define", {"name": "api", "baseUrl": origin, **parts})["error"]
        assert error["code"] == -32602 and error["data"]["pointer"] == pointer, error
        assert error["message"].startswith(pointer[1:].replace("/", ".") + " must be a method"), error


BREAK = {"X": "a\nb"}


@pytest.mark.parametrize(
    ("given", "pointer"),
    [
        ({"overrides": {"headers": BREAK}}, "/overrides/headers/X"),
        ({"params": {"id": 1}, "overrides": {"headers": BREAK}}, "/overrides/headers/X"),
        ({"params": {"trace": "a\nb"}}, "/params"),
        ({}, "/endpoint"),
    ],
)
def test_a_request_that_cannot_be_built_is_pointed_at_in_the_call(wire, origin, given, pointer):
    trace = {"places": {"trace": {"in": "header", "name": "X"}}} if "params" in given else {}
    endpoint = {"path": "/echo", **trace, **({} if given else {"headers": BREAK})}
    definition = {"name": "api", "baseUrl": origin, "endpoints": {"one": endpoint}}
    assert "result" in wire.call("router.define", definition)
    call = {"router": "api", "endpoint": "one", **given}
    assert wire.call("router.build", call)["error"]["data"]["pointer"] == pointer
    assert wire.call("router.send", call)["result"]["error"]["pointer"] == pointer
    started = wire.call("router.start", call)["result"]["request"]
    assert wire.call("request.wait", {"request": started})["result"]["error"]["pointer"] == pointer


@pytest.mark.parametrize(
    ("members", "at"),
    [
        ({"session": "none"}, "/session"),
        ({"interceptors": ["int_0000000000000000"]}, "/interceptors/0"),
        ({"method": "POST", "body": {"stream": "str_0000000000000000"}}, "/body/stream"),
    ],
)
def test_an_object_that_does_not_exist_is_pointed_at_in_the_call(wire, origin, members, at):
    define(wire, origin, one={"path": "/echo"}, other={"path": "/echo", **members})
    for method in ("router.build", "router.send", "router.start"):
        error = wire.call(method, {"router": "api", "endpoint": "one", "overrides": members})["error"]
        assert (error["code"], error["data"]["pointer"]) == (-32012, "/overrides" + at), error
        error = wire.call(method, {"router": "api", "endpoint": "other"})["error"]
        assert (error["code"], error["data"]["pointer"]) == (-32012, "/endpoint"), error


def test_a_call_that_waits_cannot_start_later(wire, origin):
    define(wire, origin, one={"path": "/echo"})
    error = send(wire, "one", startImmediately=False)["error"]
    assert (error["code"], error["data"]["pointer"]) == (-32602, "/overrides/startImmediately"), error


def test_overrides_cover_the_endpoint_for_one_call(wire, origin):
    """[E5]"""
    define(wire, origin, one={"path": "/echo", "query": {"a": 1}})
    assert echoed(send(wire, "one", query={"a": 2, "b": 3}))["target"] == "/echo?a=2&b=3"
    assert echoed(send(wire, "one"))["target"] == "/echo?a=1"


def test_long_overrides_do_as_short_ones_do(wire, origin):
    """A message that is read beside the event loop; what is wrong in it is named all the same."""
    define(wire, origin, one={"method": "POST", "path": "/echo"})
    value = [{"id": number, "name": "y" * 40} for number in range(8000)]
    got = echoed(send(wire, "one", body={"json": value}))
    assert got["method"] == "POST" and json.loads(got["body"]) == value
    wrong = {"X-" + str(number): number for number in range(9000)}
    error = send(wire, "one", headers=wrong)["error"]
    assert error["data"]["pointer"].startswith("/overrides/headers/X-"), error
    overrides = {"headers": {"X": "y" * 70_000}}
    built = wire.call("router.build", {"router": "api", "endpoint": "one", "overrides": overrides})["result"]
    assert "y" * 70_000 in json.dumps(built)


@pytest.mark.parametrize(
    ("endpoint", "params", "code", "pointer"),
    [
        ("uzer", {}, 2100, "/endpoint"),
        ("user", {}, 2101, "/params/id"),
        ("user", {"id": ""}, 2101, "/params/id"),
        ("user", {"id": "x"}, 2102, "/params/id"),
        ("user", {"id": 1, "other": 1}, 2102, "/params/other"),
    ],
)
def test_what_does_not_fit_is_told_before_anything_is_sent(wire, endpoint, params, code, pointer):
    """[E4]"""
    schema = {"type": "object", "properties": {"id": {"type": "integer"}}, "additionalProperties": False}
    define(wire, "http://127.0.0.1:1", user={"path": "/users/{id}", "params": schema})
    error = send(wire, endpoint, params)["error"]
    assert error["data"]["failure"]["code"] == code and error["data"]["pointer"] == pointer, error


def test_any_number_of_routers_is_told_apart_by_name(wire, origin):
    """"""
    for name in ("dnd", "images"):
        params = {"name": name, "baseUrl": origin, "endpoints": {"one": {"path": f"/echo/{name}"}}}
        wire.call("router.define", params)
    assert echoed(send(wire, "one", router="dnd"))["target"] == "/echo/dnd"
    assert echoed(send(wire, "one", router="images"))["target"] == "/echo/images"
    many = [wire.call("router.define", {**params, "name": f"r{number}"}) for number in range(70)]
    assert many[-1]["error"]["code"] == -32011


def test_a_started_request_is_followed_by_its_handle(wire, origin):
    define(wire, origin, one={"path": "/json"})
    request = wire.call("router.start", {"router": "api", "endpoint": "one"})["result"]["request"]
    assert wire.call("request.wait", {"request": request})["result"]["status"] == 200


def test_a_shared_router_is_for_all_connections_until_it_is_deleted(listening, origin, wire):
    one = {"name": "api", "baseUrl": origin, "endpoints": {"one": {"path": "/json"}}, "shared": True}
    assert wire.call("router.define", one)["error"]["code"] == -32014
    with contract.Wire(listening) as first, contract.Wire(listening) as second:
        first.call("router.define", one)
        assert send(second, "one")["result"]["status"] == 200
        second.call("router.define", {**one, "shared": False, "endpoints": {}})
        assert send(second, "one")["error"]["data"]["failure"]["code"] == 2100
        assert send(first, "one")["result"]["status"] == 200
        first.call("router.delete", {"router": "api"})
        assert send(first, "one")["error"]["code"] == -32012


def test_an_openapi_document_becomes_a_router(wire, origin):
    """[E4]"""
    text = PETS.replace("ORIGIN", origin)
    made = wire.call("router.import", {"from": {"text": text}})["result"]
    assert made["endpoints"] == ["listPets", "postEchoPets", "json"] and made["name"] == "Pets"
    notes = {note["pointer"]: note["message"] for note in made["notes"]}
    assert set(notes) == {
        "/paths/~1echo~1pets/post",
        "/paths/~1echo~1pets~1{pet~1Id}/get",
        "/components/schemas/pet/properties/born/pattern",
        "/security",
    }
    params = {"limit": 5, "ids": [1, 2], "X-Trace": "t", "session": "a b"}
    got = echoed(send(wire, "listPets", params, router="Pets"))
    assert got["target"] == "/echo/pets?ids=1,2&limit=5"  # the separator of RFC 6570 stays a comma
    shown = json.dumps(got["headers"])
    assert "session=a%20b" in shown and "application/json" in shown
    pet = {"name": "wolf", "born": "2030", "tag": None}
    assert json.loads(echoed(send(wire, "postEchoPets", {"body": pet}, router="Pets"))["body"]) == pet
    for params, pointer in [
        ({"body": {"name": "Wolf"}}, "/params/body/name"),
        ({}, "/params/body"),
        ({"limit": 101, "body": pet}, "/params/limit"),
    ]:
        error = send(wire, "postEchoPets", params, router="Pets")["error"]
        assert error["data"]["pointer"] == pointer and error["data"]["failure"]["code"] == 2102


@pytest.mark.parametrize(
    ("text", "pointer", "said"),
    [
        ("{", "", "line 1"),
        ("a: [", "", "line"),
        ("openapi: 2.0.0", "/openapi", "3.0 or 3.1"),
        ("openapi: 3.0.0", "/servers", "say baseUrl"),
        ("openapi: 3.0.0\nservers: [{url: /v1}]", "/servers/0", "say baseUrl"),
    ],
)
def test_what_is_no_openapi_document_is_refused_with_a_reason(wire, text, pointer, said):
    error = wire.call("router.import", {"from": {"text": text}})["error"]
    assert error["data"]["pointer"].startswith("/from/text" + pointer) and said in error["message"], error


def test_a_missing_document_is_pointed_at(wire, tmp_path):
    error = wire.call("router.import", {"from": {"file": str(tmp_path / "missing")}})["error"]
    assert error["code"] == -32602 and error["data"]["pointer"] == "/from/file", error


def test_the_path_of_a_document_is_absolute(wire):
    """A relative path would begin where the service was started."""
    error = wire.call("router.import", {"from": {"file": "api.yaml"}})["error"]
    assert error["code"] == -32602 and error["data"]["pointer"] == "/from/file" and "absolute" in error["message"]


def serve(*arguments):
    command = [contract.binary(), "serve", "--stdio", *arguments]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30)


def test_routers_of_files_are_there_from_the_start(tmp_path, origin):
    (tmp_path / "pets.yaml").write_text(PETS.replace("ORIGIN", origin))
    users = {"name": "users", "baseUrl": origin, "endpoints": {"one": {"path": "/echo/{id}"}}}
    (tmp_path / "people.json").write_text(json.dumps(users))
    (tmp_path / "notes.txt").write_text("no router")
    with contract.Wire(arguments=("--routers", str(tmp_path))) as wire:
        listed = wire.call("router.list")["result"]["routers"]
        assert [(one["name"], one["endpoints"], one["shared"]) for one in listed] == [
            ("pets", 3, True),
            ("users", 1, True),
        ]
        assert listed[0]["source"] == str(tmp_path / "pets.yaml")
        assert echoed(send(wire, "one", {"id": 1}, router="users"))["target"] == "/echo/1"
        described = wire.call("router.describe", {"router": "pets"})["result"]
        assert len(described["notes"]) == 4


SHARED = {
    "openapi": "3.1.0", "info": {"title": "pets", "version": "1"}, "servers": [{"url": "http://127.0.0.1:1"}],
    "paths": {
        "/pets/{id}": {"get": {"operationId": "one", "parameters": [
            {"name": "id", "in": "path", "required": True, "schema": {"$ref": "#/components/schemas/Id"}},
            {"name": "size", "in": "query", "schema": {"type": "integer", "default": {"$ref": "#/kept"}}}]}},
        "/pets": {"post": {"operationId": "add", "requestBody": {"content": {"application/json": {
            "schema": {"type": "object", "properties": {"pet": {"$ref": "#/components/schemas/Pet"}}}}}}}},
    },
    "components": {"schemas": {
        "Id": {"type": "integer", "minimum": 1},
        "Pet": {"type": "object", "required": ["name"], "properties": {
            "name": {"type": "string"}, "parents": {"type": "array", "items": {"$ref": "#/components/schemas/Pet"}},
            "id": {"$ref": "#/components/schemas/Id"}}},
        "Unused": {"type": "string"},
    }},
}  # fmt: skip


def references(value):
    """All references in a schema."""
    if isinstance(value, list):
        return [one for inner in value for one in references(inner)]
    if not isinstance(value, dict):
        return []
    own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
    return own + [one for name, inner in value.items() if name != "default" for one in references(inner)]


def test_references_of_a_description_lead_somewhere(wire):
    """What router.describe gives needs no document."""
    assert "result" in wire.call("router.import", {"name": "pets", "from": {"document": SHARED}})
    described = wire.call("router.describe", {"router": "pets"})["result"]
    assert sorted(described["definitions"]) == ["Id", "Pet"]
    assert set(references(described)) == {"#/definitions/Id", "#/definitions/Pet"}
    size = described["endpoints"][0]["params"]["properties"]["size"]
    assert size == {"type": "integer", "default": {"$ref": "#/kept"}}
    one = wire.call("router.describe", {"router": "pets", "endpoint": "one"})["result"]
    assert one["definitions"] == {"Id": {"type": "integer", "minimum": 1}}
    schema = {**described["endpoints"][1]["params"], "definitions": described["definitions"]}
    for pet, valid in (({"name": "a", "parents": [{"name": "b", "id": 1}]}, True), ({"parents": []}, False)):
        judged = wire.call("evaluate.schema", {"schema": schema, "value": {"body": {"pet": pet}}})["result"]
        assert judged["valid"] is valid, judged


def test_a_large_schema_that_many_endpoints_share_is_described_once(wire):
    shared = {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(200)}}
    parameter = {"name": "filter", "in": "query", "schema": shared}
    named = {"parameters": [{"$ref": "#/components/parameters/Filter"}]}
    document = {
        "openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "servers": [{"url": "http://a.test"}],
        "paths": {f"/{n}": {"get": {"operationId": f"o{n}", **named}} for n in range(50)},
        "components": {"parameters": {"Filter": parameter}},
    }
    assert "result" in wire.call("router.import", {"name": "shared", "from": {"document": document}})
    described = wire.call("router.describe", {"router": "shared"})["result"]
    assert json.dumps(described).count('"p199"') == 1
    assert {one["params"]["properties"]["filter"]["$ref"] for one in described["endpoints"]} == {"#/definitions/schema"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("baseUrl: http://x\nendpoints:\n  one:\n    path: /{id\n", ", line 4: endpoints.one.path has a brace"),
        (
            "baseUrl: http://x\nendpoints:\n  one: {path: /}\n  two: {path: /, timeuot: 5}\n",
            "(at /endpoints/two/timeuot)",
        ),
        ("baseUrl: http://x\nendpoints:\n  one:\n    method: G ET\n    path: /\n", "line 4: endpoints.one.method must"),
        ("baseUrl: http://x\n\tendpoints: {}\n", "line 2"),
        ("- a\n", "must be an object"),
        ("baseUrl: nowhere\nendpoints: {}\n", "line 1: baseUrl must be an absolute URL"),
    ],
)
def test_a_file_that_is_wrong_is_named_with_line_and_place(tmp_path, text, said):
    path = tmp_path / "api.yaml"
    path.write_text(text)
    done = serve("--routers", str(path))
    assert done.returncode == 2 and done.stdout == ""
    assert f"--routers: {path}" in done.stderr and said in done.stderr, done.stderr


def test_a_file_that_is_not_there_is_named(tmp_path):
    done = serve("--routers", str(tmp_path / "none.yaml"))
    assert done.returncode == 2 and "none.yaml" in done.stderr


def test_the_shell_calls_an_endpoint_of_a_document(tmp_path, origin, service):
    path = tmp_path / "pets.yaml"
    path.write_text(PETS.replace("ORIGIN", origin))
    words = ("--from", str(path), "pets", "listPets", "limit:=5")
    done = outrider("route", "--socket", service, *words)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["body"]["json"]["target"] == "/echo/pets?limit=5"
    done = outrider("route", "--socket", service, *words, "other=1")
    assert done.returncode == 1 and b"other" in done.stderr


def test_the_examples_of_the_guide_work(tmp_path, origin):
    guide = (contract.ROOT / "docs/guide/router.md").read_text("utf-8").replace("http://127.0.0.1:8080", origin)
    blocks = [block.split("\n", 1) for block in guide.split("```")[1::2]]
    path = tmp_path / "demo.yaml"
    path.write_text(next(text for kind, text in blocks if kind == "yaml"))
    calls = [json.loads(line) for kind, text in blocks if kind == "jsonl" for line in text.splitlines()]
    assert len(calls) >= 4
    with contract.Wire(arguments=("--routers", str(path))) as wire:
        for call in calls:
            reply = wire.call(call["method"], call["params"])
            assert reply.get("result", {}).get("ok", True) and "error" not in reply, (call, reply)
