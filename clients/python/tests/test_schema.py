# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The client agrees with the contract, and its two halves with each other."""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import contract_tables
import outrider
import pytest
import raised as table
from outrider import _exceptions as old
from outrider._protocol import exceptions as _exceptions
from outrider._protocol import frames as _rpc
from outrider._protocol import parameters as _calls
from outrider._protocol import wording
from outrider._protocol.arguments import FIXED
from outrider._resources.oauth import camel

PACKAGE = Path(outrider.__file__).parent
CONTRACT = {"errors": json.loads((Path(table.__file__).parent / "errors.json").read_text())}


def public(kind: type) -> dict[str, object]:
    """With what it has from its bases."""
    found: dict[str, object] = {}
    for each in reversed(kind.__mro__[:-1]):
        found.update((name, value) for name, value in vars(each).items() if not name.startswith("_"))
    return found


def test_both_clients_have_the_same_methods_and_arguments() -> None:
    blocking, awaiting = public(outrider.Client), public(outrider.AsyncClient)
    assert blocking.keys() == awaiting.keys()
    for name in blocking.keys() - FIXED:
        ours, theirs = inspect.signature(blocking[name]), inspect.signature(awaiting[name])  # type: ignore[arg-type]
        assert list(ours.parameters) == list(theirs.parameters), name
        assert [each.default for each in ours.parameters.values()] == [
            each.default for each in theirs.parameters.values()
        ], name
    ours, theirs = inspect.signature(outrider.Client), inspect.signature(outrider.AsyncClient)
    assert ours.parameters == theirs.parameters


def test_both_responses_tell_the_same() -> None:
    assert public(outrider.Response).keys() <= public(outrider.AsyncResponse).keys()
    assert public(outrider.AsyncResponse).keys() - public(outrider.Response).keys() == {"read"}


def test_every_option_is_a_parameter_of_the_protocol() -> None:
    required, optional = contract_tables.METHODS["data.send"]
    assert required == ("url",)
    samples = {
        "json": 1, "data": "x", "file": "/f", "files": {"f": b"x"}, "auth": {"bearer": "t"}, "timeout": 1,
        "params": {"a": 1}, "headers": {"A": "b"}, "serialize": "json", "events": True, "metrics": True, "check": True,
        "cookies": {"a": "b"}, "verify": True, "http2": True,
    }  # fmt: skip
    reached = {"url", "method"}
    for option in _calls.OPTIONS:
        if option in {"content_type", "progress"}:
            # what the client does itself
            continue
        built = _calls.build("POST", "http://h/", {option: samples.get(option, "x")}, _calls.Defaults())
        assert set(json.loads(built.params)) <= {"url", *optional}, option
        reached |= json.loads(built.params).keys()
    # A client that does not want a handle does not look at it; tokens are for editors.
    assert {*required, *optional} - reached == {"handles", "workDoneToken"}
    assert contract_tables.METHODS["data.start"] == (required, optional)


def test_messages_know_every_option_with_another_name() -> None:
    members = {*contract_tables.METHODS["data.send"][1], "contentType"}
    for option in _calls.OPTIONS:
        member = camel(option)
        if member != option and member in members:
            assert wording.OPTIONS.count(option) == 1, option
            assert wording.sentence({"message": f"say {member}"}, {}) == f"say {option}"


def test_every_option_is_typed() -> None:
    declared = (PACKAGE / "_protocol/options.py").read_text().split("class Options")[1].split("\nclass ")[0]
    typed = re.findall(r"^    (\w+):", declared, re.M)
    assert typed and set(typed) == set(_calls.OPTIONS)


@pytest.mark.parametrize("code", sorted(contract_tables.ERRORS))
def test_every_code_has_its_exception(code: int) -> None:
    found = _exceptions.class_for(code)
    general = {_exceptions.OutriderError, _exceptions.CallError, _exceptions.ExchangeError}
    assert found not in general
    assert issubclass(found, _exceptions.ExchangeError) == (code > 0)
    assert found is not _exceptions.ServerError or code == -32603


def test_codes_of_a_newer_service_still_land_in_the_right_half() -> None:
    assert _exceptions.class_for(-32099) is _exceptions.ServerError
    assert _exceptions.class_for(9999) is _exceptions.ExchangeError
    assert _exceptions.class_for(1499) is _exceptions.TransportError


def test_the_drawing_of_the_tree_is_the_tree() -> None:
    drawn = re.findall(r"[├└]── (\w+)", _exceptions.__doc__ or "")
    made = [
        name
        for name, value in vars(_exceptions).items()
        if inspect.isclass(value) and issubclass(value, _exceptions.OutriderError) and name != "OutriderError"
    ]
    assert sorted(drawn) == sorted(made)
    assert set(made) < set(outrider.__all__)


@pytest.mark.parametrize("name, bases, codes, text", table.EXCEPTIONS)
def test_an_exception_is_what_the_contract_says(name: str, bases: str, codes: tuple[int, ...], text: str) -> None:
    found = getattr(outrider, name)
    assert ", ".join(base.__name__ for base in found.__bases__) == bases
    assert {code for code, kind in _exceptions.BY_CODE.items() if kind is found} == set(codes)
    told = " ".join((found.__doc__ or "").split())
    assert name in table.HAND_WRITTEN or told.startswith(text)
    # help() lists the codes of each
    listed = [code for code, one in table.names(CONTRACT).items() if one == name]
    assert [int(code) for code in re.findall(r"``(-?[0-9]+)``  ", found.__doc__ or "")] == listed
    assert all(" ".join(line.split()) in told for line in table.listed(table.codes_of(CONTRACT)[name]))
    source = inspect.getsource(found)
    assert source.startswith(f"class {name}({bases}):")


def test_a_pickle_finds_each_exception_in_one_module() -> None:
    """Pickles of earlier versions name the generated module."""
    for name, *_ in table.EXCEPTIONS:
        assert getattr(outrider, name) is getattr(_exceptions, name) is getattr(old, name)


def test_the_exceptions_are_loaded_with_the_clients() -> None:
    """An ``except`` that loads a module fails where no file descriptor is free, and in tests that restore
    ``sys.modules`` the classes would become strangers."""
    code = """if True:
        import sys
        import outrider
        getattr(outrider, sys.argv[1])
        before = set(sys.modules)
        outrider.OutriderError, outrider.StatusError, outrider.UnknownMethod
        assert 'outrider._protocol.exceptions' in before and set(sys.modules) == before
    """
    for name in ("get", "Client", "AsyncClient"):
        subprocess.run(
            [sys.executable, "-c", code, name], check=True, env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
        )


def test_an_error_of_the_service_needs_no_file_descriptor() -> None:
    """Its message may lack the names of this client, whose module cannot be loaded then."""
    code = """if True:
        import sys
        import outrider
        from outrider._protocol.frames import result_of
        outrider.get

        class Exhausted:
            def find_spec(self, name, *_):
                raise OSError(24, 'Too many open files')

        def said(error):
            try:
                result_of({'error': error})
            except outrider.InvalidCall as problem:
                return str(problem)

        refusal = {'code': -32602, 'message': 'bodyTo is wrong'}
        sys.meta_path.insert(0, Exhausted())
        assert said(refusal) == 'bodyTo is wrong'
        failure = outrider._protocol.exceptions.from_failure({'code': 1402, 'message': 'refused'}, None)
        assert type(failure) is outrider.ConnectError and str(failure) == 'refused'
        sys.meta_path.pop(0)
        assert said(refusal) == 'body_to is wrong'
    """
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)})


def test_the_protocol_is_the_one_of_the_schema() -> None:
    assert contract_tables.PROTOCOL == _rpc.PROTOCOL


def test_every_method_that_the_client_calls_exists() -> None:
    for file in PACKAGE.rglob("*.py"):
        for name, keys in re.findall(
            r'(?:invoke|_call|_result)\("([a-z]+\.[A-Za-z]+)"(?:, \{([^}]*)\})?', file.read_text()
        ):
            assert name in contract_tables.METHODS, (file.name, name)
            required, optional = contract_tables.METHODS[name]
            given = set(re.findall(r'"(\w+)":', keys))
            assert given <= {*required, *optional}, (file.name, name)
