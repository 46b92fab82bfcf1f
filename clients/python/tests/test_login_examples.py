# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Editors that log in, by a browser or on another device, and make a request: the examples as they are."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from peers import ROOT

sys.path.extend(map(str, sorted(ROOT.glob("Tests/EndToEnd/support/*"))))
from authorization_server import Authorizing
from editor_logins import BOTH, EXAMPLES, Kind, editing

# a person who says yes at once
CURL = "exec curl --noproxy '*' --silent --location --output /dev/null \"$1\""


@pytest.mark.parametrize("grant", ["authorizationCode", "device"])
@BOTH
def test_an_editor_logs_in_once_and_reads_twice(kind: Kind, grant: str, binary: str, tmp_path: Path) -> None:
    assert len((EXAMPLES / kind.example).read_text().splitlines()) <= 48
    with Authorizing(interval=1) as server:
        spec = {"name": "work", "grant": grant, "issuer": server.issuer, "clientId": "cli", "origins": [server.issuer]}
        with editing(kind, binary, tmp_path, server.url("/api"), spec, browser=CURL) as editor:
            assert editor.ended() == 'me:\n{"hello": "world"}\n{"hello": "world"}', editor.said
        # what a person reads; the token is not among it
        assert ("WDJB-MJHT" if grant == "device" else server.url("/authorize")) in editor.said
        assert "at-" not in editor.said
        assert sum(one.outcome == "ok" for one in server.audit if one.path == "/token") == 1
        assert [one.outcome for one in server.audit if one.path == "/api"] == ["ok", "ok"]
