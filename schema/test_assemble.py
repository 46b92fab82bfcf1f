# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Every check of the assembler can fail, and what it writes is up to date."""

import json
import pathlib
import shutil
import subprocess
import sys

import pytest

SCHEMA = pathlib.Path(__file__).resolve().parent


@pytest.fixture
def copy(tmp_path):
    """A copy of the contract that may be spoilt."""
    ignore = shutil.ignore_patterns("__pycache__", ".pytest_cache")
    shutil.copytree(SCHEMA, tmp_path / "schema", ignore=ignore)
    return tmp_path / "schema"


def assemble(schema, *arguments):
    """The status and the complaints."""
    command = [sys.executable, str(schema / "assemble.py"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stderr


def edit(schema, name, change):
    path = schema / name
    source = json.loads(path.read_text("utf-8"))
    change(source)
    path.write_text(json.dumps(source), "utf-8")


def test_generated_files_are_up_to_date():
    assert assemble(SCHEMA, "--check") == (0, "")


def test_check_writes_nothing_and_names_what_is_stale(copy):
    (copy / "openrpc.json").write_text("{}", "utf-8")
    status, said = assemble(copy, "--check")
    assert status == 1 and "schema/openrpc.json" in said and "make schema" in said
    assert (copy / "openrpc.json").read_text("utf-8") == "{}"
    assert not (copy.parent / "docs").exists()


def test_the_same_sources_give_the_same_bytes(copy):
    assert assemble(copy) == (0, "")
    pages = ["../docs/reference/%s.md" % name for name in ("README", "data", "types", "errors", "settings")]
    names = ["openrpc.json", *pages, "../clients/python/tests/contract_tables.py"]
    for name in [*names, "../Sources/OutriderMethods/LockedMembers.swift"]:
        assert (copy / name).read_bytes() == (SCHEMA / name).read_bytes()


def test_a_page_of_a_former_namespace_is_deleted(copy):
    assert assemble(copy) == (0, "")
    pages = copy.parent / "docs/reference"
    (pages / "servers.md").write_text((pages / "server.md").read_text("utf-8"), "utf-8")
    (pages / "protocol.md").write_text("# By hand\n", "utf-8")
    status, said = assemble(copy, "--check")
    assert status == 1 and "docs/reference/servers.md" in said and "protocol.md" not in said
    assert assemble(copy) == (0, "")
    assert not (pages / "servers.md").exists() and (pages / "protocol.md").exists()


def test_the_python_tables_can_be_read(copy):
    assemble(copy)
    tables = {}
    exec((copy / "../clients/python/tests/contract_tables.py").read_text("utf-8"), tables)
    assert tables["METHODS"]["stream.credit"] == (("bytes", "stream"), ())
    assert tables["ERRORS"][-32602] == ("invalidParams", None)
    assert tables["ERRORS"][1402] == ("sessionTaskFailed", "refused")
    assert "event.data" in tables["EVENTS"] and tables["PROTOCOL"] == 1


SLEEP = "methods/diagnostics.sleep.json"
SPOILT = {
    "outside the allowed subset": (SLEEP, lambda s: s["params"]["properties"]["seconds"].update(pattern="x")),
    "there is no type Nothing": (
        SLEEP,
        lambda s: s["params"]["properties"].update(a={"$ref": "Nothing", "description": "-"}),
    ),
    "nothing refers to it": ("types/Header.json", lambda s: None),
    "is no type": (SLEEP, lambda s: s["params"]["properties"]["seconds"].update(type="float")),
    "is no format": (SLEEP, lambda s: s["params"]["properties"]["seconds"].update(format="colour")),
    "is required but not described": (SLEEP, lambda s: s["params"]["required"].append("more")),
    "names are lower camel case": (SLEEP, lambda s: s["params"]["properties"].update(a_b={"description": "-"})),
    "has no description": (SLEEP, lambda s: s["params"]["properties"]["seconds"].pop("description")),
    "an object with members needs a name": (
        SLEEP,
        lambda s: s["params"]["properties"].update(a={"type": "object", "description": "-", "properties": {}}),
    ),
    "ends in base64": (
        SLEEP,
        lambda s: s["params"]["properties"].update(a={"type": "string", "format": "base64", "description": "-"}),
    ),
    "two alternatives have the same type": (
        SLEEP,
        lambda s: s["params"]["properties"].update(
            a={"anyOf": [{"type": "string"}, {"type": "string", "format": "url"}], "description": "-"}
        ),
    ),
    "no example fills more": (
        SLEEP,
        lambda s: s["params"]["properties"].update(more={"type": "string", "description": "-"}),
    ),
    "must be of type number": (SLEEP, lambda s: s["params"].update(example={"seconds": "soon"})),
    "must be at most": (SLEEP, lambda s: s["params"].update(example={"seconds": 1e9})),
    "is not in errors.json": (SLEEP, lambda s: s["errors"].append("bored")),
    "must have exactly": (SLEEP, lambda s: s.pop("since")),
    "its name must be": (SLEEP, lambda s: s.update(name="diagnostics.doze")),
    "no method has the error featureMissing": ("methods/server.hello.json", lambda s: s.update(errors=[])),
    "occurs twice": ("errors.json", lambda s: s["failures"].append(dict(s["failures"][0], kind="other"))),
    "fault is one of": ("errors.json", lambda s: s["errors"][0].update(fault="nobody")),
    "2903: no exception of schema/raised.py": ("errors.json", lambda s: s["failures"][-1].update(code=2903)),
    "ReplayError: errors.json has none": (
        "errors.json",
        lambda s: [one.update(code=one["code"] - 95) for one in s["failures"] if one["code"] // 100 == 22],
    ),
    "only objects and enums have names": (
        "types/Empty.json",
        lambda s: (s.clear(), s.update(name="Empty", description="-", type="string")),
    ),
    "namespaces: server is not described": ("info.json", lambda s: s["namespaces"].pop("server")),
    "namespaces: servers has no method": ("info.json", lambda s: s["namespaces"].update(servers="-")),
    "its params can give the error notPermitted": (
        "methods/oauth.get.json",
        lambda s: s["errors"].remove("notPermitted"),
    ),
    "its params can give the error unknownHandle": (
        "methods/request.get.json",
        lambda s: s["errors"].remove("unknownHandle"),
    ),
    "types/Retry.errors: refused is": (
        "types/Retry.json",
        lambda s: s["properties"]["errors"]["items"]["enum"].remove("refused"),
    ),
    "WaitResult: has no member results": (
        "types/WaitResult.json",
        lambda s: (s["properties"].pop("results"), s["example"].pop("results")),
    ),
    "/draft: is not known": ("types/Redirect.json", lambda s: s["example"].update(draft=1)),
    "`direction` is": ("events/event.end.json", lambda s: s.update(direction="both")),
}


@pytest.mark.parametrize("complaint", SPOILT)
def test_a_broken_rule_is_named(copy, complaint):
    name, change = SPOILT[complaint]
    if complaint == "nothing refers to it":
        shutil.copy(copy / name, copy / "types/Lonely.json")
        name, change = "types/Lonely.json", lambda s: s.update(name="Lonely")
    edit(copy, name, change)
    status, said = assemble(copy)
    assert status == 1 and complaint in said


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (None, "has no transcript"),
        ("hello\n", "starts with neither"),
        (">> {\n", "line 1"),
        ("<< {}\n", "nothing was sent yet"),
        ('>> {"jsonrpc":"2.0","id":1,"method":"server.info"}\n', "does not call diagnostics.sleep"),
        ('>> {"jsonrpc":"2.0","id":1,"method":"diagnostics.sleep","params":{"for":1}}\n', "/for: is not known"),
        (
            '>> {"jsonrpc":"2.0","id":1,"method":"diagnostics.sleep","params":{"seconds":1}}\n'
            '<< {"jsonrpc":"2.0","id":1,"result":{"seconds":"1"}}\n',
            "result/seconds: must be of type number",
        ),
    ],
)
def test_a_broken_transcript_is_named(copy, text, complaint):
    folder = copy / "transcripts/diagnostics.sleep"
    shutil.rmtree(folder)
    if text is not None:
        folder.mkdir()
        (folder / "case.io").write_text(text, "utf-8")
    status, said = assemble(copy)
    assert status == 1 and complaint in said


def test_a_list_in_a_page_is_filled_from_the_contract(copy):
    page = copy.parent / "docs/guide/bodies.md"
    page.parent.mkdir(parents=True)
    page.write_text("One of <!-- list: event kinds -->four<!-- end of list -->.\n", "utf-8")
    assert "docs/guide/bodies.md" in assemble(copy, "--check")[1]
    assert assemble(copy) == (0, "")
    assert "`progress`, `finish` and `decision`<!-- end of list -->." in page.read_text("utf-8")
    page.write_text("One of <!-- list: colours --><!-- end of list -->.\n", "utf-8")
    status, said = assemble(copy)
    assert status == 1 and "no list is called colours" in said
