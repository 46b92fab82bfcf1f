# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Who a name means: two programs, one name, and what the other one did to it.

No secret goes to a server, and no token to an origin, that the credential of that moment does not name; what was taken
away is not handed out.
"""

import json

import contract
import pytest
from authorization_server import Authorizing, served
from browser_login import approved, fetched, is_closed
from credential_process import LONG, Failure, Service, packed
from shared_credential import forget, make, origins, sent, shown, start_request
from shell import outrider

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


server = served()


@pytest.fixture
def elsewhere():
    """Another authorization server, which knows the same client."""
    with Authorizing() as server:
        yield server


# Where the token goes


def test_an_origin_that_is_taken_away_while_a_token_is_waited_for_does_not_get_it(store, tmp_path, server):
    with Service(store, tmp_path / "log", tmp_path) as service:
        service.call("oauth.create", name="work", grant="callback", callback="c", origins=[server.url("/")])
        number = start_request(service, server)
        while (asked := service.heard())["method"] != "callback.refresh":
            pass
        service.call("oauth.set", credential="work", origins=["https://other.example"])
        response = {"token": {"accessToken": "from-the-client", "expiresIn": 3600}}
        service.send({"jsonrpc": "2.0", "id": asked["id"], "result": response})
        assert service.reply(number)["result"]["error"]["code"] == 1300
        assert origins(service) == ["https://other.example"]
    assert server.audit == []


def test_origins_that_another_program_takes_away_get_no_token_any_more(services, store, server, elsewhere, clocks):
    store.put(server, server.issue())
    one, other = services
    make(one, server)
    assert sent(one, server)["status"] == 200
    make(other, server, origins=[elsewhere.url("/")])
    clocks.jump(boot=3)
    assert sent(one, server)["error"]["code"] == 1300
    # a setting of the one that knew them does not put them back
    one.call("oauth.set", credential="work", hold=True)
    assert origins(one) == origins(other) == [elsewhere.url("")]
    assert other.call("oauth.get", credential="work")["result"]["hold"]
    assert len(shown(server)) == 1


def test_a_request_that_waits_does_not_get_the_token_of_another_credential(services, server, elsewhere, clocks):
    """The first one is refreshed when a client deletes it, and makes another one of its name."""
    one, other = services
    make(one, server, tokens=server.issue())
    server.expire()
    server.stall = "commit"
    number = start_request(one, server)
    server.received("/api")
    with server.changed:
        assert server.changed.wait_for(lambda: "/token" in server.arrived, LONG)
    # waits for the lock that the refresh has
    deletion = other.start("oauth.delete", credential="work")
    server.stall = None
    server.go.set()
    assert "result" in other.reply(deletion)
    make(other, elsewhere, tokens=elsewhere.issue())
    one.reply(number)
    clocks.jump(boot=3)
    assert sent(one, server)["error"]["code"] == 1300
    assert not any(elsewhere.is_good(text.split()[-1]) for text in shown(server))
    assert elsewhere.audit == []


# Where the secrets go


def test_what_is_kept_for_one_token_endpoint_is_never_sent_to_another(store, server, elsewhere):
    def described(at, **more):
        return json.dumps({"name": "work", "client_id": at.client, "token_endpoint": at.url("/token"), **more})

    environment = store.service_environment
    first = outrider("credentials", "import", env=environment,
                     stdin=described(server, refresh_token=server.issue()["refresh_token"]).encode())
    assert first.returncode == 0, first.stderr
    other = outrider("credentials", "import", env=environment, stdin=described(elsewhere, grant="refresh").encode())
    assert other.returncode == 1 and b"token endpoint" in other.stderr
    assert store.obtain(1).state == "ready"
    assert server.outcomes() == ["ok"] and elsewhere.audit == []
    # it may have what is given for it
    moved = described(elsewhere, refresh_token=elsewhere.issue()["refresh_token"])
    assert outrider("credentials", "import", env=environment, stdin=moved.encode()).returncode == 0
    assert elsewhere.is_good(store.obtain().access)
    assert server.outcomes() == elsewhere.outcomes() == ["ok"]


def test_settings_change_what_the_store_has_by_then(services, store, server, elsewhere):
    one, other = services
    make(one, server, tokens=server.issue())
    forget(other)
    make(other, elsewhere, tokens=elsewhere.issue())
    one.call("oauth.set", credential="work", hold=True)
    assert "result" in other.call("oauth.refresh", credential="work")
    assert "result" in one.call("oauth.refresh", credential="work")
    assert server.audit == [] and elsewhere.outcomes() == ["ok", "ok"]


# Logins


@pytest.mark.parametrize("pasted", [False, True])
def test_a_code_goes_to_nobody_if_its_credential_was_made_anew(services, server, elsewhere, pasted):
    one, other = services
    login = {"authorizationUrl": server.url("/authorize")}
    make(one, server, "authorizationCode", **login)
    more = {"redirect": "http://127.0.0.1:1/callback"} if pasted else {}
    begun = one.call("oauth.login", credential="work", **more)["result"]
    forget(other)
    make(other, elsewhere, "authorizationCode", authorizationUrl=elsewhere.url("/authorize"))
    back = approved(server, begun["url"])
    if pasted:
        assert one.call("oauth.callback", credential="work", url=back)["error"]["code"] == -32018
    else:
        assert fetched(back)[0].status == 200
    ended = one.call("oauth.wait", credential="work", timeout=LONG)["result"]
    assert ended["error"]["reason"] == "credential_replaced"
    for place in (server, elsewhere):
        assert not any(asked.path == "/token" for asked in place.audit)


def test_deleting_a_credential_ends_its_login(services, server):
    service, _ = services
    make(service, server, "authorizationCode", authorizationUrl=server.url("/authorize"))
    begun = service.call("oauth.login", credential="work")["result"]
    waiting = service.start("oauth.wait", credential="work", timeout=LONG)
    deletion = service.start("oauth.delete", credential="work")
    assert service.reply(waiting)["result"]["error"]["reason"] == "credential_deleted"
    assert "result" in service.reply(deletion)
    assert is_closed(begun["redirect"])


def test_nobody_asks_for_a_device_any_more_whose_credential_is_deleted(services, server):
    service, _ = services
    server.interval, server.polls = 1, ["authorization_pending"]
    make(service, server, "device", deviceUrl=server.url("/device"))
    service.call("oauth.device", credential="work")
    server.received("/token")
    forget(service)
    make(service, server, "device", deviceUrl=server.url("/device"))
    ended = service.call("oauth.wait", credential="work", timeout=LONG)["result"]
    assert ended["error"]["reason"] == "credential_deleted"
    assert service.call("oauth.get", credential="work")["result"]["state"] == "empty"


def test_a_logout_during_a_login_is_told_as_one(services, server):
    service, _ = services
    make(service, server, "authorizationCode", authorizationUrl=server.url("/authorize"))
    service.call("oauth.login", credential="work")
    service.call("oauth.revoke", credential="work")
    assert service.call("oauth.wait", credential="work")["result"]["error"]["reason"] == "logged_out"


def test_an_order_that_is_about_another_one_is_not_carried_out(store, server):
    """As when it was deleted and made anew between two looks."""
    store.put(server, server.issue())
    stale = (18, 12345)
    for order in (
        ((4, "erase"), (5, "work"), (13, True), (14, True)), ((4, "introspect"), (5, "work")),
        ((4, "change"), (6, store.spec(server)), (7, store.secrets(None))), ((4, "device"), (5, "work"), (11, False)),
    ):
        response = store.run(*order, stale)
        assert isinstance(response, Failure) and response.reason == "credential_replaced", order
    response = store.heard(store.start(store.obtaining() + packed(stale)))
    assert response.reason == "credential_replaced"
    assert store.read().state == "ready" and server.audit == []
