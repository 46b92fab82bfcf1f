# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A plugin for pytest.

::

    @pytest.mark.outrider(cassette="users.har", ignore={"query": ["ts"]})
    def test_users():
        assert program.users() == ["ada"]

    def test_user(outrider_stubs):
        outrider_stubs.add("https://api.example.com/users/{id}", json={"name": "ada"})
        assert program.user(7) == "ada"

A cassette is found beside the test, in the directory ``cassettes``; the default name consists of the module, the
classes and the test. Options of a class or a module are for all of its tests, and those of a test come first.
``--outrider-mode`` sets the mode of all cassettes: ``once`` by default, ``none`` to forbid recording, ``all`` to record
anew. Each worker of pytest-xdist has services of its own.

pytest finds the plugin if the client is installed; else ``-p outrider.testing.plugin``.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from .._protocol.exceptions import ReplayError
from .._protocol.hints import Any, Iterator
from . import MODES, RecordingFailed, Stage

_LONGEST = 200


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("outrider")
    group.addoption("--outrider-mode", choices=MODES, default=None, help="The mode of all cassettes; default: once.")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "outrider(cassette=None, mode=None, **options): records the requests of the test once, then plays them",
    )


@pytest.fixture(autouse=True)
def _outrider_stage(request: pytest.FixtureRequest) -> Iterator[Stage | None]:
    marks = list(request.node.iter_markers("outrider"))
    wants_stubs = "outrider_stubs" in request.fixturenames
    if not marks and not wants_stubs:
        yield None
        return
    stage = _with_cassette(request, marks) if marks else Stage()
    with stage:
        yield stage


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Tells how to record what a cassette has no response for."""
    outcome: Any = yield
    report = outcome.get_result()
    if report.failed and call.excinfo is not None and item.get_closest_marker("outrider") is not None:
        problem: BaseException | None = call.excinfo.value
        for _ in range(20):
            if problem is None or (isinstance(problem, ReplayError) and problem.code == 2200):
                break
            problem = problem.__cause__ or problem.__context__
        if isinstance(problem, ReplayError):
            report.sections.append(("outrider", "to record missing responses: --outrider-mode newEpisodes"))


@pytest.fixture
def outrider_stubs(_outrider_stage: Stage) -> Stage:
    """The stubs of the test; requests that no stub is for fail, or get the response of the cassette."""
    return _outrider_stage


def _with_cassette(request: pytest.FixtureRequest, marks: list[pytest.Mark]) -> Stage:
    options: dict[str, Any] = {}
    # the closest mark is the first of them
    for mark in reversed(marks):
        options.update(mark.kwargs)
        if len(mark.args) > 1:
            raise TypeError("a mark outrider has one argument without a name, the cassette")
        if mark.args:
            options["cassette"] = mark.args[0]
    directory: Path = request.path.parent / "cassettes"
    name = options.pop("cassette", None)
    if name is None:
        name = f"{request.path.stem}/{_file_name(request.node)}.har"
    mode = request.config.getoption("--outrider-mode") or options.pop("mode", "once")
    options.pop("mode", None)
    return Stage(directory / name, mode, **options)


def _file_name(node: pytest.Item) -> str:
    """The classes and the name of a test; with a digest, if other tests could have the same name."""
    classes = [part.name for part in node.listchain() if isinstance(part, pytest.Class)]
    raw = ".".join([*classes, node.name])
    simple = re.fullmatch(r"([A-Za-z0-9_.]+)(?:\[([A-Za-z0-9_.-]+)\])?", raw)
    if simple is not None and len(raw) <= _LONGEST:
        # names of tests have no hyphen: the first one separates the parameters
        return "-".join(part for part in simple.groups() if part)
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", raw).strip("-")[:_LONGEST]
    return f"{name}-{hashlib.sha256(raw.encode(errors='surrogatepass')).hexdigest()[:8]}"


__all__ = ["RecordingFailed", "outrider_stubs", "pytest_addoption", "pytest_configure"]
