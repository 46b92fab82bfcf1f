# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""outrider.httpx2: the transports of outrider.httpx for httpx2. Where httpx2 is missing, httpx stands for it."""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    try:
        return importlib.import_module("httpx2")
    except ImportError:
        httpx = pytest.importorskip("httpx")
        monkeypatch.setitem(sys.modules, "httpx2", httpx)
        return httpx


@pytest.fixture
def transports(library: ModuleType) -> Iterator[Any]:
    yield importlib.import_module("outrider.httpx2")
    # the next import finds the library that is there then
    del sys.modules["outrider.httpx2"]


def test_a_blocking_client_sends_and_reads(library: Any, transports: Any, service: str, origin: str) -> None:
    with library.Client(transport=transports.Transport(socket=service), trust_env=False) as client:
        response = client.post(f"{origin}/echo", json={"a": 1})
    assert type(response) is library.Response
    assert response.is_success
    assert '"a":1' in response.text.replace(" ", "").replace("\\", "")


def test_an_awaiting_client_sends_and_reads(library: Any, transports: Any, service: str, origin: str) -> None:
    async def read() -> int:
        transport = transports.AsyncTransport(socket=service)
        async with library.AsyncClient(transport=transport, trust_env=False) as client, client.stream(
            "GET", f"{origin}/bytes/9000000"
        ) as response:
            return sum([len(piece) async for piece in response.aiter_raw()])

    assert asyncio.run(read()) == 9_000_000


def test_failures_raise_the_exceptions_of_the_library(library: Any, transports: Any, service: str) -> None:
    program = library.Client(transport=transports.Transport(socket=service), trust_env=False)
    with program, pytest.raises(library.ConnectError):
        program.get("http://127.0.0.1:1/")
