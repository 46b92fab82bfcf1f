# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Cookies in real exchanges: at each attempt, at each redirect, in jars of sessions and named jars."""

import json
import pathlib
import re
import urllib.parse

import contract
import pytest
from cookie_server import CookieServer
from request_client import result, until

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


@pytest.fixture(scope="module")
def lasting():
    with CookieServer() as server:
        yield server


@pytest.fixture
def server(lasting):
    lasting.seen.clear()
    return lasting


@pytest.fixture
def line(tmp_path):
    with contract.Wire(arguments=("--jars", str(tmp_path / "jars"))) as line:
        yield line


class Session:
    """A session whose requests go through the server as a proxy, to any host."""

    def __init__(self, line, server, **settings):
        self.line, self.server = line, server
        settings = {"cookies": True, "proxy": {"url": server.origin}, **settings}
        self.name = result(line.call("session.create", settings))["session"]

    def send(self, url, **more):
        return result(self.line.call("data.send", {"url": url, "session": self.name, **more}))

    def sent(self, url, **more):
        """The Cookie field of a request to the URL."""
        assert self.send(url, **more)["ok"]
        return self.server.sent()

    def list(self, **more):
        return result(self.line.call("cookies.list", {"session": self.name, **more}))["cookies"]


def test_the_default_session_keeps_none(line, server):
    for session in ({}, {"session": "default"}):
        result(line.call("data.send", {"url": server.url(server.setting("a=1")), **session}))
        result(line.call("data.send", {"url": server.url(), **session}))
        assert server.sent() is None


def test_cookies_go_back_to_where_they_came_from(line, server):
    session = Session(line, server)
    session.send("http://www.example.com" + server.setting("a=1; Path=/", "b=2; Domain=example.com", "c=3; Path=/x"))
    assert session.sent("http://www.example.com/") == "a=1; b=2"
    assert session.sent("http://www.example.com/x/y") == "c=3; a=1; b=2"
    assert session.sent("http://other.example.com/") == "b=2"
    assert session.sent("http://example.org/") is None
    assert Session(line, server).sent("http://www.example.com/") is None


def test_every_hop_of_a_redirect_has_its_own_cookies(line, server):
    """Taken before the redirect is followed; never sent to another site. [AD2]"""
    session = Session(line, server)
    back = "http://a.example.com/end"
    away = "http://b.example.org" + server.leading(302, back, "away=1; Path=/")
    session.send("http://a.example.com" + server.leading(302, away, "home=1; Path=/"))
    assert [(host, cookies) for host, _, cookies in server.seen] == [
        ("a.example.com", None), ("b.example.org", None), ("a.example.com", ["home=1"])]
    server.seen.clear()
    session.send("http://a.example.com" + server.leading(307, away))
    assert [cookies for _, _, cookies in server.seen] == [["home=1"], ["away=1"], ["home=1"]]


@pytest.mark.parametrize("status", [301, 303, 304, 401, 404, 500])
def test_cookies_of_every_final_head_are_taken(line, server, status):
    session = Session(line, server)
    session.send(server.url(server.leading(status, server.url("/end"), "a=1; Path=/")), redirect="none")
    assert session.sent(server.url()) == "a=1"


def test_cookies_of_an_informational_head_are_not(line, server):
    session = Session(line, server)
    assert session.send("http://x.example.com/early?" + urllib.parse.quote(json.dumps(["a=1"])))["ok"]
    assert session.sent("http://x.example.com/") is None


def test_a_field_of_the_caller_replaces_the_jar(line, server):
    """On its hop; another origin does not see the field."""
    session = Session(line, server)
    session.send("http://www.example.com" + server.setting("a=1"))
    own = {"headers": {"Cookie": "mine=1"}}
    assert session.sent("http://www.example.com/", **own) == "mine=1"
    session.send("http://www.example.com" + server.leading(302, "http://example.org/"), **own)
    assert [cookies for _, _, cookies in server.seen[-2:]] == [["mine=1"], None]


def test_extra_cookies_stay_at_the_origin_of_the_request(line, server):
    session = Session(line, server)
    session.send("http://www.example.com" + server.setting("a=1"))
    extra = {"cookies": {"extra": [{"name": "x", "value": "9"}]}}
    assert session.sent("http://www.example.com/", **extra) == "a=1; x=9"
    assert [cookie["name"] for cookie in session.list()] == ["a"]
    session.send("http://www.example.com" + server.leading(302, "http://example.org/"), **extra)
    assert [cookies for _, _, cookies in server.seen[-2:]] == [["a=1; x=9"], None]
    # without a jar, too
    result(line.call("data.send", {"url": server.url(), **extra}))
    assert server.sent() == "x=9"


def test_a_request_may_go_without(line, server):
    session = Session(line, server)
    url = "http://www.example.com"
    session.send(url + server.setting("a=1"))
    assert session.sent(url + "/", cookies=False) is None
    assert session.sent(url + "/", cookies={"send": False}) is None
    session.send(url + server.setting("b=2"), cookies=False)
    session.send(url + server.setting("c=2"), cookies={"accept": "none"})
    assert session.sent(url + "/", cookies=True) == "a=1"


def test_first_party_cookies_only(line, server):
    """[AD2]"""
    session = Session(line, server, cookies={"accept": "firstParty"})
    end = "http://a.example.com/end"
    away = "http://b.example.org" + server.leading(302, end, "away=1; Path=/")
    session.send("http://a.example.com" + server.leading(302, away, "home=1; Domain=example.com"))
    assert [cookie["name"] for cookie in session.list()] == ["home"]


def test_same_site_counts_for_a_request_in_the_name_of_a_page(line, server):
    session = Session(line, server)
    url = "http://www.example.com"
    session.send(url + server.setting("s=1; SameSite=Strict", "l=2; SameSite=Lax"))
    assert session.sent(url + "/") == "s=1; l=2"
    assert session.sent(url + "/", cookies={"site": "http://other.org/"}) is None
    assert session.sent(url + "/", cookies={"site": "http://other.org/", "navigation": True}) == "l=2"
    lax = {"site": "http://other.org/", "navigation": True}
    assert session.sent(url + "/", cookies=lax, method="POST") is None


def test_a_navigation_may_set_cookies_of_any_same_site(line, server):
    url = "http://www.example.com" + server.setting("s=1; SameSite=Strict", "l=2; SameSite=Lax", "d=3")
    page = {"site": "http://other.org/"}
    for more, taken in (({}, []), ({"navigation": True}, ["s", "l", "d"])):
        session = Session(line, server)
        session.send(url, cookies={**page, **more})
        assert [cookie["name"] for cookie in session.list()] == taken
        params = {"session": session.name, "url": url, "setCookie": ["x=1; SameSite=Lax"], **page, **more}
        (told,) = result(line.call("cookies.explain", params))["received"]
        assert told["taken"] is bool(taken)


def test_names_are_compared_by_their_bytes(line, server):
    session = Session(line, server)
    url = "https://www.example.com/"
    # the same text for Unicode, in two spellings
    fields = ["caf\u00e9=1", "cafe\u0301=2"]
    changes = result(line.call("cookies.set", {"session": session.name, "url": url, "setCookie": fields}))["changes"]
    assert [change["kind"] for change in changes] == ["added", "added"]
    value = result(line.call("cookies.header", {"session": session.name, "url": url}))["value"]
    assert value.split("; ") == fields and len(session.list(name="caf\u00e9")) == 1


@pytest.mark.parametrize(("name", "value"), [("a", "1; b=2"), ("a;b", "1"), ("a=b", "1")])
def test_a_cookie_that_cannot_be_sent_is_refused_with_the_character(line, name, value):
    session = result(line.call("session.create", {"cookies": True}))["session"]
    where = {"session": session, "url": "http://h.example/"}
    change = result(line.call("cookies.set", {**where, "cookies": [{"name": name, "value": value}]}))["changes"][0]
    assert (change["kind"], change["reason"]) == ("refused", "controlCharacter") and "semicolon" in change["message"]


def test_a_cookie_of_an_address_is_one_cookie(line, server):
    session = Session(line, server)
    where = {"session": session.name, "url": "http://127.0.0.1/"}
    result(line.call("cookies.set", {**where, "cookies": [{"name": "a", "value": "1", "hostOnly": False}]}))
    result(line.call("cookies.set", {**where, "setCookie": ["a=2"]}))
    assert [(cookie["value"], cookie["hostOnly"]) for cookie in session.list()] == [("2", True)]


def test_changes_are_told_without_values(line, server):
    session = Session(line, server, name="api", cookies={"events": True})
    url = "http://www.example.com" + server.setting("a=secret1", "b=secret2; Domain=com")
    events, _ = until(line, line.start("data.send", {"url": url, "session": session.name}))
    (event,) = (event for event in events if event["method"] == "event.cookies")
    assert event["params"]["session"] == "api"
    assert [(change["kind"], change["name"]) for change in event["params"]["changes"]] == [
        ("added", "a"), ("refused", "b")]
    assert "secret" not in json.dumps(event)


def test_changes_for_which_a_slow_client_has_no_room_are_counted(listening):
    rounds, names, long = 100, [f"c{number}" for number in range(100)], "x" * 300
    with contract.Wire(listening) as slow, contract.Wire(listening) as other:
        settings = {"name": "api", "shared": True, "cookies": {"events": True}}
        result(slow.call("session.create", settings))
        for number in range(rounds):
            fields = [f"{name}={number}; Path=/{long}" for name in names]
            result(other.call("cookies.set", {"session": "api", "url": "http://a.test/", "setCookie": fields}))
        assert result(other.call("server.stats"))["events"]["dropped"] > 0
        told = missing = 0
        while told + missing < rounds:
            message = slow.receive()
            if message["method"] == "event.cookies":
                assert [change["name"] for change in message["params"]["changes"]] == names
                told += 1
            else:
                assert message["method"] == "event.dropped"
                missing += message["params"]["count"]
        assert missing > 0


def test_refused_cookies_are_a_topic(line, server):
    result(line.call("events.subscribe", {"topics": ["cookies.refused"]}))
    session = Session(line, server)
    url = "http://www.example.com" + server.setting("b=secret; Domain=com")
    events, _ = until(line, line.start("data.send", {"url": url, "session": session.name}))
    # the event may come before or after the reply
    while not any(event["method"] == "event.monitor" for event in events):
        events.append(line.receive())
    (told,) = (event["params"] for event in events if event["method"] == "event.monitor")
    assert told["topic"] == "cookies.refused"
    assert told["detail"]["cookies"][0]["reason"] == "publicSuffix"
    assert "secret" not in json.dumps(events)


def test_a_session_can_change_its_cookies(line, server):
    session = Session(line, server)
    url = "http://www.example.com"
    session.send(url + server.setting("a=1"))
    update = {"session": session.name, "cookies": {"send": False}}
    told = result(line.call("session.update", update))
    assert told["cookies"] == {"send": False, "accept": "all", "events": False}
    assert session.sent(url + "/") is None
    result(line.call("session.update", {"session": session.name, "cookies": True}))
    assert session.sent(url + "/") == "a=1", "the jar in memory was kept"
    result(line.call("session.update", {"session": session.name, "cookies": False}))
    assert session.sent(url + "/") is None
    assert line.call("cookies.list", {"session": session.name})["error"]["data"]["state"] == "noCookies"


@pytest.mark.parametrize(
    "cookies, pointer",
    [("../up", "/cookies"), (".hidden", "/cookies"), ("", "/cookies"), (7, "/cookies"),
     ({"name": "a/b"}, "/cookies/name"), ({"accept": "some"}, "/cookies/accept"),
     ({"nonsense": 1}, "/cookies/nonsense")])
def test_bad_settings_are_named(line, cookies, pointer):
    error = line.call("session.create", {"cookies": cookies})["error"]
    assert error["code"] == -32602 and error["data"]["pointer"] == pointer


@pytest.mark.parametrize(
    "extra", [[{"name": "a=b", "value": "1"}], [{"name": "", "value": "1"}], [{"name": "a", "value": "1\r\nX: y"}],
              [{"name": "a", "value": "1; b=2"}], [{"name": "a", "value": "1"}] * 101])
def test_extra_cookies_cannot_make_fields(line, server, extra):
    params = {"url": server.url(), "cookies": {"extra": extra}}
    error = line.call("data.send", params)["error"]
    assert error["code"] == -32602 and error["data"]["pointer"].startswith("/cookies/extra")
    assert not server.seen


SUFFIX_CASES = pathlib.Path("/usr/share/doc/publicsuffix/examples/test_psl.txt")


@pytest.mark.skipif(not SUFFIX_CASES.exists(), reason="Debian's package publicsuffix is not here")
def test_the_cases_of_the_public_suffix_list(line):
    """All that are host names: what the list comes with, asked by the site of a URL."""
    session = result(line.call("session.create", {"cookies": True}))["session"]
    cases = re.findall(r"^checkPublicSuffix\('([^']+)', (?:null|'([^']*)')\);", SUFFIX_CASES.read_text("utf-8"), re.M)
    names = [(host, wanted) for host, wanted in cases if not host.startswith(".")]
    assert len(names) > 70
    for host, wanted in names:
        found = result(line.call("cookies.explain", {"session": session, "url": f"https://{host}/"}))
        labels = (wanted or host).lower().split(".")
        expected = ".".join(label if label.isascii() else label.encode("idna").decode() for label in labels)
        assert found["site"] == expected, host


@pytest.mark.parametrize("form", ["netscape", "json"])
def test_an_import_puts_as_many_cookies_as_a_jar_holds(line, form):
    """The last ones; the file says more than the jar may ever hold."""
    if form == "netscape":
        text = "".join(f"h{number}.test\tFALSE\t/\tFALSE\t0\tc\t1\n" for number in range(20_000))
    else:
        text = json.dumps([{"name": "c", "value": "1", "domain": f"h{number}.test"} for number in range(20_000)])
    done = result(line.call("cookies.import", {"jar": "work", "format": form, "text": text}, 60))
    assert done["imported"] == 3000, done["imported"]
    assert any("17000 cookies" in skipped["message"] for skipped in done["skipped"])
    assert len(result(line.call("cookies.list", {"jar": "work"}))["cookies"]) == 3000


def test_an_import_tells_of_cookies_for_which_the_jar_has_no_room(line):
    text = "".join(f"many.test\tFALSE\t/\tFALSE\t0\tc{number}\t1\n" for number in range(200))
    done = result(line.call("cookies.import", {"jar": "many", "text": text}))
    assert done["imported"] == 180 == len(result(line.call("cookies.list", {"jar": "many"}))["cookies"])
    assert [one["line"] for one in done["skipped"]] == [0] and done["skipped"][0]["message"].startswith("20 cookies")


def test_cookies_beyond_a_full_field_are_explained(line):
    url = "https://full.test/"
    fields = [f"c{number}={'v' * 4000}" for number in range(10, 19)] + ["short=1"]
    result(line.call("cookies.set", {"jar": "full", "url": url, "setCookie": fields}))
    value = result(line.call("cookies.header", {"jar": "full", "url": url}))["value"]
    found = result(line.call("cookies.explain", {"jar": "full", "url": url}))["stored"]
    assert [cookie["name"] for cookie in found if not cookie["sent"]] == ["c18", "short"] and "short" not in value
    assert {cookie["reason"] for cookie in found if not cookie["sent"]} == {"fieldTooLong"}


def test_a_refused_cookie_of_a_json_file_has_its_number(line):
    cookies = [
        {"name": "a", "value": "1", "domain": "numbered.test"},
        {"name": "b", "value": "1", "domain": ".com"},
        {"name": "c", "value": 1, "domain": "numbered.test"},
        {"name": "d", "value": "1"},
    ]
    done = result(line.call("cookies.import", {"jar": "numbers", "format": "json", "text": json.dumps(cookies)}))
    assert done["imported"] == 1 and [one["line"] for one in done["skipped"]] == [2, 3, 4], done
    assert done["skipped"][0]["message"].startswith("b: "), done


@pytest.mark.parametrize("form", ["netscape", "json"])
def test_exported_cookies_are_imported_in_their_order(line, form):
    """Though the cookies of a response have the same millisecond."""
    url, names = "https://ordered.test/", "qwertyuiopasdfghjklzxcvbnm"
    result(line.call("cookies.set", {"jar": "ordered", "url": url, "setCookie": [f"{name}=1" for name in names]}))
    text = result(line.call("cookies.export", {"jar": "ordered", "format": form}))["text"]
    result(line.call("cookies.import", {"jar": f"again-{form}", "format": form, "text": text}))
    header = result(line.call("cookies.header", {"jar": f"again-{form}", "url": url}))["value"]
    assert header == "; ".join(f"{name}=1" for name in names)


def test_files_that_cannot_be_used_are_pointed_at(line, tmp_path):
    error = line.call("cookies.import", {"jar": "work", "path": str(tmp_path / "missing")})["error"]
    assert error["code"] == -32602 and error["data"]["pointer"] == "/path", error
    (tmp_path / "there").write_text("")
    error = line.call("cookies.export", {"jar": "work", "file": str(tmp_path / "there")})["error"]
    assert error["code"] == -32602 and error["data"]["pointer"] == "/file", error
    # the path of the caller, and not that of a file which is renamed at the end
    error = line.call("cookies.export", {"jar": "work", "file": str(tmp_path / "no" / "file")})["error"]
    assert f"could not create {tmp_path}/no/file: no such file" in error["message"], error
