# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Downloads that go on with changes: another link, another destination, another token."""

import contract
import pytest
from download_client import PART, SIZE, download, interrupted, journal, resumed, server, to
from range_server import Ranging
from request_client import result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
__all__ = ["server"]


def test_the_last_url_that_responded_is_the_one_that_is_kept(wire, server, tmp_path):
    """The link of the first request may have expired since."""
    path = tmp_path / "file"
    data = interrupted(wire, server, "/fine?link=1", path, resume=True)["resumeData"]
    server.cut = 100_000
    response = resumed(wire, resumeData=data, url=server.url("/fine?link=2"))
    assert journal(response["resumeData"])["url"] == server.url("/fine?link=2")
    assert journal(response["resumeData"])["held"] == [[0, PART + 100_000]]
    server.cut = 100_000
    response = download(wire, server.url("/fine?link=3"), destination=to(path), resume=True)
    assert journal(response["resumeData"])["url"] == server.url("/fine?link=3")
    assert resumed(wire, path=str(path))["ok"] and server.requests[-1]["path"] == "/fine?link=3"
    assert path.read_bytes() == server.data


def test_the_present_request_says_whether_a_file_is_replaced(wire, server, tmp_path):
    path = tmp_path / "file"
    interrupted(wire, server, "/fine", path, resume=True)
    path.write_bytes(b"former")
    server.cut = 100_000
    response = download(wire, server.url("/fine"), destination=to(path, replace=True), resume=True)
    assert resumed(wire, resumeData=response["resumeData"])["ok"] and path.read_bytes() == server.data


def test_what_a_resume_by_handle_changes_is_changed(wire, server, tmp_path):
    """Everything else stays: two members of one kind do not hide each other."""
    token = {"accessToken": "new", "expiresIn": 3600}
    params = {"name": "resume", "tokenUrl": server.url("/token"), "clientId": "c", "grant": "refresh"}
    result(wire.call("oauth.create", {**params, "token": token, "origins": [server.url("/")], "persist": "memory"}))

    def begun(name, **params):
        server.cut = PART
        params = {"url": server.url("/fine"), "destination": to(tmp_path / name), **params}
        request = result(wire.call("download.start", params))["request"]
        if params.get("startImmediately") is False:
            wire.call("request.resume", {"request": request})
        assert result(wire.call("request.wait", {"request": request}))["error"]["code"] == 1404
        return request

    def sent(request, **changes):
        assert resumed(wire, request=request, **changes)["ok"]
        assert server.ranges()[-1] == f"bytes={PART}-"
        return server.requests[-1]

    bearer = {"auth": {"bearer": "old"}, "query": {"a": "1"}}
    assert sent(begun("a", **bearer), auth={"oauth": "resume"})["fields"]["authorization"] == "Bearer new"
    assert sent(begun("b", **bearer), headers={"Authorization": "raw"})["fields"]["authorization"] == "raw"
    last = sent(begun("c", auth={"oauth": "resume"}), auth={"bearer": "own"}, query={"a": "2"})
    assert (last["fields"]["authorization"], last["path"]) == ("Bearer own", "/fine?a=2")
    with Ranging(SIZE) as proxy:
        before = len(server.requests)
        assert resumed(wire, request=begun("d"), proxy=proxy.url("").rstrip("/"))["ok"]
        assert len(server.requests) == before + 1 and proxy.requests[-1]["path"] == server.url("/fine")
    # started at once, though the former request was not
    assert sent(begun("e", startImmediately=False))["path"] == "/fine"
    # the handlers of the call, and the rule of before
    response = resumed(wire, request=begun("f", validate={"status": [200]}), handlers=[{"id": "h"}])
    assert (response["status"], response["error"]["code"]) == (206, 1600)
