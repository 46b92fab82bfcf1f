# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Proxies from a shell: flags, and the environment of who calls rather than that of the service."""

import contract
import pytest
from digest_server import PASSWORD, USER
from proxy_server import Proxy
from shell import outrider, refused

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


@pytest.fixture
def proxy():
    with Proxy() as one:
        yield one


def came(done, proxy, count):
    assert done.returncode == 0, done.stderr
    assert len(proxy.requests) == count
    return done.stdout


def test_a_flag_names_the_proxy(get, home, proxy):
    """[AD3]"""
    came(get("-x", proxy.address, home.url()), proxy, 1)
    came(get("--proxy", proxy.address.removeprefix("http://"), home.url()), proxy, 2)
    came(get("-x", proxy.address, "--noproxy", "127.0.0.0/8", home.url()), proxy, 2)


@pytest.mark.parametrize("word", [f"{USER}:{PASSWORD}", f"{USER}:%{ord(PASSWORD[0]):02x}{PASSWORD[1:]}"])
def test_a_flag_names_the_user_of_the_proxy(get, home, word):
    with Proxy(basic=True) as proxy:
        for words, env in (
            (["-x", proxy.address], {}), (["-x", proxy.address.removeprefix("http://")], {}),
            ([], {"http_proxy": proxy.address}),
        ):  # fmt: skip
            done = get(*words, "-U", word, home.url(), env=env)
            assert done.returncode == 0 and proxy.statuses[-1] == 200, (words, done)
        # as with curl, the user in the URL is more than the option
        assert get("-x", proxy.named, "-U", "bob:wrong", home.url()).returncode == 0 and proxy.statuses[-1] == 200
        refused(get("-x", proxy.address, "-U", USER, home.url()), 2, "NAME:PASSWORD")
        refused(get("-x", proxy.address, "-U", "a%3Ac:p", home.url()), 2, "-U", "NAME:PASSWORD")


def test_the_environment_of_who_calls_counts(get, home, proxy):
    """[AD7]"""
    own = {"http_proxy": proxy.address}
    came(get(home.url(), env=own), proxy, 1)
    came(get(home.url(), env={"ALL_PROXY": proxy.address}), proxy, 2)
    came(get(home.url(), env={"HTTP_PROXY": proxy.address, "https_proxy": proxy.address}), proxy, 2)
    came(get(home.url(), env={**own, "no_proxy": "example.org,127.0.0.1"}), proxy, 2)
    came(get(home.url(), env={**own, "NO_PROXY": "*"}), proxy, 2)
    came(get("-x", "", home.url(), env=own), proxy, 2)
    came(get("--noproxy", "*", home.url(), env=own), proxy, 2)
    # a flag is more than the environment
    came(get("--noproxy", "", home.url(), env={**own, "NO_PROXY": "*"}), proxy, 3)


def test_a_variable_that_another_one_replaces_does_not_count(get, home, proxy):
    both = {"http_proxy": proxy.address, "https_proxy": proxy.address}
    came(get(home.url(), env={**both, "all_proxy": "socks://127.0.0.1:1080/"}), proxy, 1)


@pytest.mark.parametrize("value", ["socks4://127.0.0.1:1", "http://u:s3cret@h:1/path"])
def test_a_variable_that_cannot_be_used_fails_only_its_scheme(get, home, proxy, value):
    own = {"http_proxy": proxy.address, "https_proxy": value}
    came(get(home.url(), env=own), proxy, 1)
    shown = refused(get("https://server.test/", env=own), 2, "https_proxy in the environment")
    assert PASSWORD not in shown and len(proxy.requests) == 1
    refused(get(home.url(), env={"all_proxy": value}), 2, "all_proxy in the environment")
    came(get(home.url(), env={"all_proxy": value, "no_proxy": "127.0.0.1"}), proxy, 1)


def test_without_a_word_the_setting_of_the_service_counts(home, proxy):
    env = {"OUTRIDER_PROXY": proxy.address}
    came(outrider("get", "--stdio", home.url(), env=env), proxy, 1)
    came(outrider("get", "--stdio", "-x", "", home.url(), env=env), proxy, 1)


@pytest.mark.parametrize("word", ["gopher://u:s3cret@h", "http://u:s3cret@h/x"])
def test_what_is_no_proxy_is_refused_without_its_password(get, home, word):
    assert PASSWORD not in refused(get("-x", word, home.url()), 2, "-x: the ", "proxy")
    assert PASSWORD not in refused(outrider("serve", "--stdio", "--proxy", word), 2, "proxy")


def test_the_curl_command_names_the_proxy(get, proxy, home):
    shown = get("--curl", "-x", proxy.named, home.url()).stdout.decode()
    assert f"-x '{proxy.address.replace('//', '//ada:***@')}'" in shown and PASSWORD not in shown


def test_files_go_through_it_too(service, home, proxy, tmp_path):
    words = ["--socket", service, "-x", proxy.address, "-o", str(tmp_path / "f")]
    done = outrider("download", *words, home.url("/many/9"))
    assert done.returncode == 0 and len(proxy.requests) >= 1, done.stderr
    assert (tmp_path / "f").read_bytes() == bytes(9)
