# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What tests of named jars share: a service with its jars in a directory, and calls about the jar `work`."""

import contextlib
import sqlite3

import contract
from request_client import result

URL = "https://www.example.com/"


def wire(jars, **more):
    return contract.Wire(arguments=("--jars", str(jars)), **more)


def put(line, *fields, jar="work", url=URL):
    return result(line.call("cookies.set", {"jar": jar, "url": url, "setCookie": list(fields)}))["changes"]


def header(line, jar="work", url=URL):
    return result(line.call("cookies.header", {"jar": jar, "url": url})).get("value")


def listed(line, jar="work"):
    return result(line.call("cookies.list", {"jar": jar}))


def change(jars, statement):
    with contextlib.closing(sqlite3.connect(jars / "work/jar.db")) as database:
        database.execute(statement)
        database.commit()
