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

A cassette is found beside the test, in the directory ``cassettes``; the default name consists of the module and the
test. ``--outrider-mode`` sets the mode of all cassettes: ``once`` by default, ``none`` to forbid recording, ``all`` to
record anew. Each worker of pytest-xdist has services of its own.

pytest finds the plugin if the client is installed; else ``-p outrider.testing.plugin``.
"""

from __future__ import annotations

import re

import pytest

from . import RecordingFailed, Stage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_MODES = ("once", "none", "newEpisodes", "all")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("outrider")
    group.addoption("--outrider-mode", choices=_MODES, default=None, help="The mode of all cassettes; default: once.")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "outrider(cassette=None, mode=None, **options): records the requests of the test once, then plays them",
    )


@pytest.fixture(autouse=True)
def _outrider_stage(request: pytest.FixtureRequest) -> Iterator[Stage | None]:
    mark = request.node.get_closest_marker("outrider")
    wants_stubs = "outrider_stubs" in request.fixturenames
    if mark is None and not wants_stubs:
        yield None
        return
    stage = Stage() if mark is None else _with_cassette(request, mark)
    with stage:
        yield stage


@pytest.fixture
def outrider_stubs(_outrider_stage: Stage) -> Stage:
    """The stubs of the test; requests that no stub is for fail, or get the response of the cassette."""
    return _outrider_stage


def _with_cassette(request: pytest.FixtureRequest, mark: pytest.Mark) -> Stage:
    options = dict(mark.kwargs)
    if mark.args:
        options["cassette"] = mark.args[0]
    directory: Path = request.path.parent / "cassettes"
    name = options.pop("cassette", None)
    if name is None:
        test = re.sub(r"[^A-Za-z0-9_.-]+", "-", request.node.name).strip("-")
        name = f"{request.path.stem}/{test}.har"
    mode = request.config.getoption("--outrider-mode") or options.pop("mode", "once")
    options.pop("mode", None)
    return Stage(directory / name, mode, **options)


__all__ = ["RecordingFailed", "outrider_stubs", "pytest_addoption", "pytest_configure"]
