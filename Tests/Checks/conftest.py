# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors

import pathlib
import shutil
from typing import Callable

import pytest
from house import House


@pytest.fixture
def house(tmp_path: pathlib.Path) -> House:
    return House(tmp_path)


@pytest.fixture(scope="session")
def links_foundation() -> "Callable[[], str]":
    """A program file of the toolchain that is linked with full Foundation."""

    def find() -> str:
        swift = shutil.which("swift")
        if swift is None:
            pytest.skip("swift is not here")
        for library in pathlib.Path(swift).resolve().parents[1].rglob("libFoundationNetworking.so"):
            return str(library)
        pytest.skip("this toolchain has no shared FoundationNetworking")

    return find
