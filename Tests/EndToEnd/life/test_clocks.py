# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The calendar is set, and the machine sleeps: no token is sent that may have ended, and no server is asked in vain."""

import datetime
import time

import contract
import pytest
from authorization_server import served
from credential_process import LONG, Service, Snapshot

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

HOUR, DAY, YEAR = 3600, 86400, 365 * 86400


def to(year):
    return int(datetime.datetime(year, 1, 2, tzinfo=datetime.timezone.utc).timestamp() - time.time())


# the calendar is wrong by so many seconds from one moment to the next
JUMPS = {
    "an hour ahead": HOUR, "two hours ahead": 2 * HOUR, "a day ahead": DAY, "30 years ahead": 30 * YEAR,
    "an hour back": -HOUR, "two hours back": -2 * HOUR, "a day back": -DAY, "30 years back": -30 * YEAR,
    "to 1970": to(1970), "to 2038": to(2038), "to 2100": to(2100),
}


server = served()


@pytest.fixture
def service(server, store, clocks, tmp_path):
    store.environment.update(clocks.environment)
    store.put(server, server.issue())
    with Service(store, tmp_path / "log", tmp_path) as service:
        service.adopt(store, server)
        yield service


def use(service, server, store, count=3):
    """So many requests at once; the tokens that they were sent with, none of which had ended."""
    before = len([one for one in server.audit if one.path == "/api"])
    numbers = [service.start("data.send", url=server.url("/api"), auth={"oauth": store.name}) for _ in range(count)]
    found = {}
    while set(numbers) - set(found):
        reply = service.heard()
        found[reply["id"]] = reply["result"].get("status")
    assert set(found.values()) == {200}, found
    sent = [one for one in server.audit if one.path == "/api"][before:]
    assert [one.outcome for one in sent] == ["ok"] * count
    return {one.authorization for one in sent}


@pytest.mark.parametrize("jump", JUMPS.values(), ids=JUMPS)
def test_a_calendar_that_is_set_leads_to_one_refresh_at_most(service, server, store, clocks, jump):
    """Set ahead, the token seems to have ended; set back, the clock of the boot still knows. And back again."""
    (first,) = use(service, server, store)
    clocks.jump(wall=jump)
    (second,) = use(service, server, store)
    assert (first != second) == (jump > 0)
    assert use(service, server, store) == {second}
    clocks.jump(wall=-jump)
    (third,) = use(service, server, store)
    assert third == second
    assert server.outcomes() == ["ok"] * (2 if jump > 0 else 1)
    # the hour of the token passes, whatever the calendar says
    clocks.jump(wall=-DAY, boot=HOUR)
    server.expire()
    assert use(service, server, store) != {third}
    assert server.outcomes() == ["ok"] * (3 if jump > 0 else 2)


def test_a_calendar_that_does_not_come_to_rest_leads_to_few_refreshes(service, server, store, clocks):
    use(service, server, store)
    for _ in range(10):
        clocks.jump(wall=DAY)
        use(service, server, store)
        clocks.jump(wall=-DAY)
        use(service, server, store)
    assert server.outcomes() == ["ok"] * 2


@pytest.mark.parametrize("wall", [8 * HOUR, 0, -30 * YEAR], ids=["with", "without", "against"])
def test_after_a_sleep_the_first_request_has_a_new_token(service, server, store, clocks, wall):
    """Whether or not the calendar has gone on meanwhile."""
    (first,) = use(service, server, store)
    clocks.jump(wall=wall, boot=8 * HOUR)
    server.expire()
    (second,) = use(service, server, store, 20)
    assert second != first
    assert server.outcomes() == ["ok"] * 2


@pytest.mark.parametrize("wall", [-DAY, 0, 2 * HOUR])
def test_the_next_service_knows_how_much_time_has_passed(service, server, store, clocks, tmp_path, wall):
    (first,) = use(service, server, store)
    service.process.kill()
    clocks.jump(wall=wall, boot=2 * HOUR)
    server.expire()
    with Service(store, tmp_path / "log", tmp_path) as service:
        service.adopt(store, server)
        assert use(service, server, store) != {first}
    assert server.outcomes() == ["ok"] * 2


def test_a_machine_that_sleeps_while_a_server_thinks_keeps_its_login(service, server, store, clocks):
    """Its helper is let alone after all those hours; what it brings has ended, and is good for another."""
    use(service, server, store)
    server.stall = "head"
    server.expire()
    number = service.start("data.send", url=server.url("/api"), auth={"oauth": store.name})
    server.received("/token", seconds=LONG, count=2)
    clocks.jump(wall=8 * HOUR, boot=8 * HOUR)
    server.stall = None
    server.go.set()
    assert service.reply(number)["result"]["status"] == 200
    assert server.outcomes() == ["ok"] * 3


def test_how_old_a_lost_response_is_does_not_depend_on_the_calendar(server, store, clocks):
    store.environment.update(clocks.environment)
    server.grace = 10
    store.put(server, server.issue())
    server.stall = "head"
    process = store.start(store.obtaining(1))
    server.received("/token", seconds=LONG)
    process.kill()
    assert store.heard(process) is None
    server.stall = None
    server.go.set()
    clocks.jump(wall=-30 * YEAR)
    found = store.obtain(1)
    assert isinstance(found, Snapshot) and server.is_good(found.access)
    assert server.outcomes() == ["ok", "replayed"]


def test_a_server_in_trouble_is_left_alone_whatever_the_calendar_says(server, store, clocks):
    store.environment.update(clocks.environment)
    store.put(server, server.issue())
    server.script = [(503, {"Retry-After": "120"}, b"")]
    assert store.obtain(1).reason == "server_unavailable"
    for wall in (YEAR, -2 * YEAR, YEAR):
        clocks.jump(wall=wall)
        assert store.obtain(1).reason == "paused"
    # the machine sleeps, and its server has had its time
    clocks.jump(boot=121)
    assert store.obtain(1).generation == 2
    assert len(server.audit) == 2
