# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Neovim and Emacs log in at authorization servers of other authors, and refresh: the examples as they are."""

import contract
import providers
import pytest
from editor_logins import BOTH, editing

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


def spec(provider, resource, grant="authorizationCode", **more):
    return {"name": "work", "grant": grant, "issuer": provider.issuer, "clientId": provider.public,
            "scope": provider.scope, "origins": [resource.url("")], "persist": "memory", **more}


def secret(provider):
    return {"clientId": provider.client, "clientSecret": provider.secret}


def read(editor, provider, resource, times):
    """What stands in the buffer is what the server says of the person, as often as it was read, each time with another
    token; none of them is shown."""
    lines = editor.ended().split("\n")
    person = provider.whose(resource.tokens[-1]).decode()
    assert lines == ["me:"] + [person] * times, editor.said
    assert len(set(resource.tokens)) == times
    assert not [token for token in resource.tokens if token in editor.said]


@BOTH
def test_an_editor_logs_in_by_a_browser_and_refreshes_with_rotation(kind, glewlwyd, tmp_path):
    """The server that counts: of its refresh tokens all but the last one are used up."""
    with providers.Once(glewlwyd) as resource, editing(
        kind, contract.binary(), tmp_path, resource.url("/me"), spec(glewlwyd, resource), listen=glewlwyd.listen,
        times=4, browser=glewlwyd.browser(),
    ) as editor:
        read(editor, glewlwyd, resource, 4)
        assert glewlwyd.issuer + "/auth?" in editor.said
    assert glewlwyd.chain() == [False, False, False, True]


@BOTH
def test_an_editor_logs_in_on_another_device_and_refreshes_with_rotation(kind, glewlwyd, tmp_path):
    with providers.Once(glewlwyd) as resource, editing(
        kind, contract.binary(), tmp_path, resource.url("/me"), spec(glewlwyd, resource, "device"), times=3,
    ) as editor:
        glewlwyd.approve_device(editor.shown("enter ([A-Z0-9]{4}-[A-Z0-9]{4})")[1])
        read(editor, glewlwyd, resource, 3)
    assert glewlwyd.chain() == [False, False, True]


@BOTH
def test_an_editor_needs_nobody_for_client_credentials(kind, glewlwyd, tmp_path):
    with providers.Once(glewlwyd, lambda token: b"yes" if glewlwyd.is_active(token) else None) as resource, editing(
        kind, contract.binary(), tmp_path, resource.url("/me"),
        spec(glewlwyd, resource, "clientCredentials", **secret(glewlwyd)), times=2,
    ) as editor:
        assert editor.ended() == "me:\nyes\nyes", editor.said
        assert len(set(resource.tokens)) == 2


@BOTH
def test_an_editor_logs_in_with_openid_connect(kind, mock, tmp_path):
    """An ID token with a nonce, by the server's own keys; the server ends the first token when it gives another."""
    with providers.Once(mock) as resource, editing(
        kind, contract.binary(), tmp_path, resource.url("/me"), spec(mock, resource, **secret(mock)), times=3,
        browser=mock.browser(),
    ) as editor:
        read(editor, mock, resource, 3)
    assert mock.whose(resource.tokens[0]) is None
