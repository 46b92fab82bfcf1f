# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Authorization servers that hang, drip, lie, or are not there: what it is called, how long it takes, and that the next
refresh goes well."""

import contextlib
import signal
import time

import contract
import pytest
from authorization_server import Authorizing, served
from credential_process import LONG, Failure, Service, Snapshot, Store
from http_server import Listening

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

# what a request to a token endpoint may take, and what the machine may be late
MOST = 20 + 5


server = served(grace=60)


class Mute(Listening):
    """Takes what comes, and says nothing: to a TLS client, a handshake that never ends."""

    def serve(self, connection, number):
        while connection.recv(65536):
            pass


def recovers(server, store, generation=1):
    """The lock is free again, and nothing was lost."""
    found = store.obtain()
    assert isinstance(found, Snapshot), found
    assert found.generation == generation + 1 and server.is_good(found.access)
    assert "reuse" not in server.outcomes()


STALLS = {
    "accept": ("unknownOutcome", "outcome_unknown"),
    "commit": ("unknownOutcome", "outcome_unknown"),
    "head": ("unknownOutcome", "outcome_unknown"),
    "body": ("unknownOutcome", "outcome_unknown"),
    "drip": ("unknownOutcome", "outcome_unknown"),
    "tls": ("temporary", "unreachable"),
}


def test_servers_that_stall_are_waited_for_20_seconds(tmp_path):
    """Each of them at once: wherever it stalls. A process that waits for the lock gets the same, or its turn."""
    with contextlib.ExitStack() as stack:
        begun = {}
        for place in STALLS:
            (tmp_path / place).mkdir()
            store, server = Store(tmp_path / place), stack.enter_context(Authorizing(grace=60))
            if place == "tls":
                mute = stack.enter_context(Mute())
                address, server.url = server.url, lambda path, mute=mute: mute.url(path, "https")
                tokens = server.issue()
                assert store.put(server, tokens, issuer="the same").generation == 1
                server.url = address
            else:
                assert store.put(server, server.issue(), issuer="the same").generation == 1
                server.stall = place if place != "drip" else None
                server.drip = 0.5 if place == "drip" else None
            began = time.monotonic()
            begun[place] = server, store, store.start(store.obtaining(1)), began
        for place, (server, store, process, began) in begun.items():
            failed = store.one(store.heard(process))
            assert isinstance(failed, Failure), (place, failed)
            assert (failed.kind, failed.reason) == STALLS[place], place
            assert time.monotonic() - began < MOST, place
            server.stall = server.drip = None
            server.go.set()
            if place == "tls":
                # nothing was sent, and the settings may be corrected: for another endpoint the token is given once more
                assert not (store.folder / "intent").exists()
                assert store.put(server, issuer="the same").reason == "identity_mismatch"
                assert store.put(server, tokens, issuer="the same").generation == 2
            recovers(server, store, 2 if place == "tls" else 1)


PAGE = {"Content-Type": "text/html"}
RESPONSES = {
    "a redirect": ((307, {"Location": "http://127.0.0.1:1/token"}, b""), "temporary", "unexpected_status"),
    "a gate": ((302, {"Location": "http://gate.invalid/"}, b"<html>"), "temporary", "unexpected_status"),
    "a page with 401": ((401, PAGE, b"<html>Sign in</html>"), "temporary", "unexpected_status"),
    "a page with 403": ((403, PAGE, b"<html>Blocked</html>"), "temporary", "unexpected_status"),
    "a page with 200": ((200, PAGE, b"<html>Sign in</html>"), "temporary", "malformed_answer"),
    "nothing with 200": ((200, {}, b""), "temporary", "malformed_answer"),
    "nginx about a certificate": (
        (400, PAGE, b"<html>\r\n<head><title>400 The SSL certificate error</title></head>"),
        "temporary", "certificate_refused"),
    "a page with 400": ((400, PAGE, b"<html>The SSL certificate is valid</html>"), "config", "unexpected_status"),
    "no such place": ((404, {}, b"not here"), "config", "unexpected_status"),
    "in trouble": ((503, {"Retry-After": "1"}, b""), "temporary", "server_unavailable"),
    "too much": ((429, {"Retry-After": "1"}, {"error": "slow_down"}), "temporary", "slow_down"),
    "slow down": ((400, {}, {"error": "slow_down"}), "temporary", "slow_down"),
    "busy": ((400, {}, {"error": "temporarily_unavailable"}), "temporary", "server_unavailable"),
    "the wrong client": ((401, {}, {"error": "invalid_client"}), "config", "invalid_client"),
    "not for this client": ((400, {}, {"error": "unauthorized_client"}), "config", "unauthorized_client"),
    "not this scope": ((400, {}, {"error": "invalid_scope"}), "config", "invalid_scope"),
    "an unknown error": ((400, {}, {"error": "x" * 5000}), "config", "x" * 64),
}


@pytest.mark.parametrize(("response", "kind", "reason"), RESPONSES.values(), ids=RESPONSES)
def test_what_is_no_token_leaves_the_login_as_it_was(server, store, response, kind, reason):
    """And is followed nowhere."""
    store.put(server, server.issue())
    server.script = [response]
    failed = store.obtain(1)
    assert (failed.kind, failed.reason) == (kind, reason)
    assert len(server.audit) == 1
    assert store.read() == Snapshot("work", "ready", 1, None, True)
    recovers(server, store)


def test_tokens_are_taken_whatever_they_are_called(server, store):
    """Some servers say text/html for JSON; what counts is what is there."""
    store.put(server, server.issue())
    original = server.decided

    def decided(path, request):
        status, fields, body = original(path, request)
        return status, {**fields, "Content-Type": "text/html"}, body

    server.decided = decided
    recovers(server, store)


@pytest.mark.parametrize("status", [200, 403])
def test_a_body_of_a_hundred_megabytes_is_not_read(server, store, status):
    """A portal in between shows a page: it is no token, and no reason to log in."""
    store.put(server, server.issue())
    server.script = [(status, PAGE, b"<html>" + b"x" * (100 << 20))]
    began = time.monotonic()
    failed = store.obtain(1)
    assert (failed.kind, failed.reason) == (
        "temporary", "malformed_answer" if status == 200 else "unexpected_status")
    assert len(server.audit) == 1
    assert time.monotonic() - began < MOST
    assert sum(path.stat().st_size for path in store.folder.iterdir()) < 1 << 20
    recovers(server, store)


def test_tokens_with_megabytes_after_them_are_tokens(server, store):
    store.put(server, server.issue())
    server.odd = lambda tokens: {**tokens, "more": "x" * (5 << 20)}
    recovers(server, store)
    assert server.outcomes() == ["ok"]


def test_a_refusal_that_breaks_off_is_a_refusal(server, store):
    """The rest of a page does not matter: the server is not asked twice for it."""
    store.put(server, server.issue())
    server.script, server.cuts = [(503, PAGE, b"<html>" + b"x" * 1000)], ["body"]
    failed = store.obtain(1)
    assert (failed.kind, failed.reason) == ("temporary", "server_unavailable")
    assert len(server.audit) == 1
    recovers(server, store)


def test_a_page_in_place_of_the_repetition_ends_no_login(server, store):
    """The response was lost, and the repetition shows a page: the next one may clear it up."""
    store.put(server, server.issue())
    server.cuts = ["head"]
    server.script = []
    original = server.decided

    def decided(path, request):
        response = original(path, request)
        if len(server.audit) == 1:
            server.script = [(403, PAGE, b"<html>")]
        return response

    server.decided = decided
    failed = store.obtain(1)
    assert (failed.kind, failed.reason) == ("temporary", "unexpected_status")
    found = store.obtain(1)
    assert isinstance(found, Snapshot) and server.is_good(found.access)
    assert server.outcomes() == ["ok", "scripted", "replayed"]


@pytest.mark.parametrize("host", ["no-such-host.invalid:80", "127.0.0.1:1"], ids=["no name", "refused"])
def test_a_server_that_is_not_there_is_told_nothing(server, store, host):
    address = server.url
    server.url = lambda path, scheme="http": f"{scheme}://{host}{path}"
    tokens = server.issue()
    store.put(server, tokens, issuer="the same")
    failed = store.obtain(1)
    assert (failed.kind, failed.reason) == ("temporary", "unreachable")
    assert not (store.folder / "intent").exists()
    server.url = address
    # what is kept for one endpoint is never told to another: the token is given once more
    assert store.put(server, issuer="the same").reason == "identity_mismatch"
    assert store.put(server, tokens, issuer="the same").generation == 2
    recovers(server, store, 2)


def test_a_helper_that_hangs_ends_by_its_alarm(server, store, clocks):
    """With the lock: an alarm that rings too early stands for one that has waited for too long."""
    store.put(server, server.issue())
    server.stall = "head"
    process = store.start(store.obtaining(1), **clocks.environment, OUTRIDER_TEST_ALARMS="1")
    server.received("/token", seconds=LONG)
    others = [store.start(store.obtaining(1)) for _ in range(3)]
    assert store.heard(process) is None
    assert process.returncode == -signal.SIGALRM
    server.stall = None
    server.go.set()
    # the lock is free, and those who wait for it go on
    responses = [store.one(store.heard(other)) for other in others]
    assert {response.generation for response in responses} == {2}
    assert server.outcomes() == ["ok", "replayed"]


# What those see who want a token


def created(service, server, store, **more):
    given = server.issue()
    response = service.call(
        "oauth.create", name=store.name, grant="refresh", clientId=server.client, tokenUrl=server.url("/token"),
        persist="disk", origins=[server.url("/")],
        token={"accessToken": given["access_token"], "refreshToken": given["refresh_token"], **more})
    assert "result" in response, response


def test_who_waits_for_a_server_that_stalls_does_so_for_as_long_as_he_wants(server, store, clocks, tmp_path):
    """Each within his own time; the refresh goes on, and the next one has its token."""
    with Service(store, tmp_path / "log", tmp_path, **clocks.environment) as service:
        created(service, server, store, expiresIn=3600)
        clocks.jump(wall=3600, boot=3600)
        server.stall = "head"
        began = time.monotonic()
        number = service.start("data.send", url=server.url("/api"), auth={"oauth": store.name}, timeout=1)
        failed = service.reply(number)["result"]["error"]
        assert failed["code"] == 1300, failed
        assert time.monotonic() - began < 6
        server.stall = None
        server.go.set()
        response = service.call("data.send", url=server.url("/api"), auth={"oauth": store.name})
        assert response["result"]["status"] == 200, response
        assert server.outcomes() == ["ok"]


def test_a_token_that_has_not_ended_serves_while_its_server_stalls(server, store, clocks, tmp_path):
    """It is due, and still good for minutes: no request fails for want of a better one, or waits for long."""
    with Service(store, tmp_path / "log", tmp_path, **clocks.environment) as service:
        created(service, server, store, expiresIn=3600)
        clocks.jump(wall=3400, boot=3400)
        server.stall = "commit"
        began = time.monotonic()
        numbers = [
            service.start("data.send", url=server.url("/api"), auth={"oauth": store.name}) for _ in range(3)]
        assert {service.heard()["result"]["status"] for _ in numbers} == {200}
        assert time.monotonic() - began < 15
        # of those that are refused with it, none is sent with it again
        server.expire()
        number = service.start("data.send", url=server.url("/api"), auth={"oauth": store.name})
        server.received("/api", count=4, seconds=LONG)
        server.stall = None
        server.go.set()
        assert service.reply(number)["result"]["status"] == 200
        assert server.outcomes() == ["ok"]
        assert [one.outcome for one in server.audit if one.path == "/api"] == ["ok"] * 3 + ["invalid_token", "ok"]


def test_two_hundred_that_go_away_do_not_take_the_refresh_with_them(server, store, clocks, tmp_path):
    """Each cancels while the server thinks; its tokens are kept, for those who come later."""
    with Service(store, tmp_path / "log", tmp_path, **clocks.environment) as service:
        created(service, server, store, expiresIn=3600)
        clocks.jump(wall=3600, boot=3600)
        server.stall = "head"
        numbers = [
            service.start("data.send", url=server.url("/api"), auth={"oauth": store.name}) for _ in range(200)]
        server.received("/token", seconds=LONG)
        for number in numbers:
            service.tell("$/cancelRequest", id=number)
        responses = [service.heard() for _ in numbers]
        assert {response["error"]["code"] for response in responses} == {-32800}
        server.stall = None
        server.go.set()
        response = service.call("data.send", url=server.url("/api"), auth={"oauth": store.name})
        assert response["result"]["status"] == 200
    assert server.outcomes() == ["ok"]
    assert store.read().generation == 2
