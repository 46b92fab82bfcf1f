# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What all rooms share: the folders of support on the path, an origin, a service, and ways to call it."""

import os
import pathlib
import subprocess
import sys

sys.path.extend(map(str, sorted(pathlib.Path(__file__).resolve().parent.glob("support/*"))))

import clocks as setting
import contract
import httpbin_server
import providers
import pytest
import tls_server
from credential_process import Service, Store
from editor_clients import Editors
from hostile_server import Hostile
from listeners import forgotten
from redirect_server import Server
from shell import outrider
from socket_service import TERMINATED, running


@pytest.fixture(autouse=True)
def no_thread_at_a_closed_listener():
    """Such a thread may take a connection from the server of a later test."""
    yield
    assert forgotten() == []


@pytest.fixture(scope="module")
def origin():
    """The URL of the small server on loopback."""
    command = [sys.executable, str(contract.ROOT / "scripts/origin.py"), "--port", "0", "--quiet"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield "http://127.0.0.1:" + process.stdout.readline().strip()
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def lasting_home():
    server = Server()
    yield server
    server.close()


@pytest.fixture(scope="module")
def lasting_away():
    server = Server()
    yield server
    server.close()


@pytest.fixture
def editors(tmp_path):
    """Runs code in Neovim and Emacs with the clients loaded."""
    with Editors(tmp_path) as editors:
        yield editors


@pytest.fixture
def home(lasting_home):
    """A server that leads elsewhere, fails, or responds, as the path says; it remembers this test's requests only."""
    lasting_home.forget()
    return lasting_home


@pytest.fixture
def away(lasting_away):
    """Another of its kind: another origin."""
    lasting_away.forget()
    return lasting_away


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """The path of a socket with a service behind it."""
    path = str(tmp_path_factory.mktemp("cli") / "s")
    with running(path, status=TERMINATED):
        yield path


@pytest.fixture
def call(service):
    """Runs `outrider call` against that service."""
    return lambda *words, **more: outrider("call", "--socket", service, *words, **more)


@pytest.fixture
def get(service):
    """Runs `outrider get` against that service."""
    return lambda *words, **more: outrider("get", "--socket", service, *words, **more)


@pytest.fixture
def place(tmp_path):
    """The path of a socket with nothing behind it; what is started there ends with the test."""
    path = str(tmp_path / "s")
    yield path
    outrider("call", "--socket", path, "server.stop", "grace:=0")


@pytest.fixture(scope="module")
def server():
    """A server that misbehaves as the path says."""
    with Hostile() as server:
        yield server


@pytest.fixture(scope="module")
def bin():
    """The URL of a real httpbin."""
    pytest.importorskip("httpbin", reason="httpbin is not here; scripts/setup --test installs it")
    with httpbin_server.serving() as url:
        yield url


@pytest.fixture(scope="module")
def glewlwyd():
    """An authorization server that rotates refresh tokens and counts them."""
    with providers.glewlwyd() as provider:
        yield provider


@pytest.fixture(scope="module")
def mock():
    """oidc-provider-mock: an OpenID provider that approves every login."""
    with providers.oidc_mock() as provider:
        yield provider


@pytest.fixture(scope="module")
def line():
    """A service on stdio, for all tests of a module."""
    with contract.Wire() as line:
        yield line


@pytest.fixture
def store(tmp_path):
    """A place for credentials, and a key for them."""
    return Store(tmp_path)


@pytest.fixture(scope="session")
def clock_library(tmp_path_factory):
    return setting.built(tmp_path_factory.mktemp("clocks"))


@pytest.fixture
def clocks(clock_library, tmp_path):
    """The calendar and the clock of the boot of those that are given its environment."""
    return setting.Clocks(clock_library, tmp_path)


@pytest.fixture
def services(store, tmp_path, clocks):
    """Two of one user."""
    store.environment.update(clocks.environment)
    with Service(store, tmp_path / "a", tmp_path) as one, Service(store, tmp_path / "b", tmp_path) as other:
        yield one, other


@pytest.fixture
def wire(monkeypatch, tmp_path):
    """A service of its own on stdio, which must be alive at the end of the test."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with contract.Wire() as wire:
        yield wire
        assert wire.call("diagnostics.echo", {"alive": True})["result"] == {"alive": True}


@pytest.fixture
def listening(monkeypatch, tmp_path):
    """The path of a socket that a service of its own listens on."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    path = str(tmp_path / "s")
    with running(path, stderr=subprocess.DEVNULL):
        yield path


@pytest.fixture
def env(tmp_path):
    """An environment with a store of its own, sealed by a key of its own; no service runs."""
    key = tmp_path / "key"
    key.write_bytes(os.urandom(32))
    key.chmod(0o600)
    (tmp_path / "run").mkdir(mode=0o700)
    return {
        "OUTRIDER_CREDENTIALS": str(tmp_path / "credentials"), "OUTRIDER_CREDENTIAL_KEY": f"file:{key}",
        "XDG_RUNTIME_DIR": str(tmp_path / "run"), "TMPDIR": str(tmp_path),
    }


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    """A folder with an authority `ca.pem`, and what it signed: `good`, for another name, and out of date."""
    folder = tmp_path_factory.mktemp("tls")
    tls_server.vouch(folder)
    return folder


@pytest.fixture
def listen(certificates):
    """Starts a server with a certificate, and gives its port."""
    with tls_server.serving(certificates) as start:
        yield start


@pytest.fixture
def trusting(certificates, monkeypatch, tmp_path):
    """A service on stdio that believes the tests' authority."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with contract.Wire(arguments=["--ca-file", str(certificates / "ca.pem")]) as wire:
        yield wire
        assert wire.call("diagnostics.echo", {"alive": True})["result"] == {"alive": True}
