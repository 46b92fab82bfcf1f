# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The service as a thing one runs: its configuration file, `status`, `stop`, `restart` and `doctor`."""

import json
import os
import pathlib
import signal
import subprocess
import time

import contract
import pytest
from shell import outrider, refused

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


@pytest.fixture
def home(tmp_path):
    """A user without a service; a service that a test starts ends with it."""
    runtime = tmp_path / "run"
    runtime.mkdir(mode=0o700)
    (tmp_path / ".config/outrider").mkdir(parents=True)
    env = {"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(runtime)}
    env["OUTRIDER_CREDENTIALS"] = str(tmp_path / "credentials")
    yield tmp_path, env
    outrider("stop", "--force", env=env)


def info(env):
    return json.loads(outrider("call", "server.info", env=env).stdout)


def has_ended(pid):
    """Whether the process is gone, or waits for its parent alone."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def configure(home, text):
    file = home / ".config/outrider/config.yaml"
    file.write_text(text)
    return file


def test_a_service_is_looked_at_restarted_and_stopped(home):
    _, env = home
    refused(outrider("status", env=env), 3, "no service answers")
    assert b"no service runs" in outrider("stop", env=env).stdout
    assert outrider("call", "--spawn", "server.info", env=env).returncode == 0
    pid = info(env)["pid"]
    said = outrider("status", env=env)
    assert said.returncode == 0 and said.stderr == b""
    assert f"process {pid} for".encode() in said.stdout and b"0 clients, 0 requests" in said.stdout
    assert outrider("restart", env=env).returncode == 0
    assert info(env)["pid"] != pid and has_ended(pid)
    assert b"has ended" in outrider("stop", env=env).stdout
    refused(outrider("status", env=env), 3)


def test_restart_starts_a_service_where_none_runs(home):
    _, env = home
    assert outrider("restart", env=env).returncode == 0
    assert outrider("status", env=env).returncode == 0


def test_the_file_sets_what_no_flag_and_no_variable_says(home):
    place, env = home
    file = configure(place, "# two\nmax-inline: 1000\nlog-level: info\nno-device-login: false\nallow-uid: [12345]\n")
    shown = outrider("config", env=env).stdout.decode()
    assert shown.splitlines()[0] == str(file)
    assert "max-inline: 1000  (line 2)" in shown and "log-level: info  (line 3)" in shown
    overruled = outrider("config", env={**env, "OUTRIDER_LOG": "error"}).stdout.decode()
    assert "log-level: info  (overruled by $OUTRIDER_LOG)" in overruled
    assert outrider("config", "--path", env=env).stdout.decode().strip() == str(file)
    outrider("restart", env=env)
    assert info(env)["limits"]["inlineBytes"] == 1000
    words = ["serve", "--stdio", "--max-inline", "2000"]
    call = b'{"jsonrpc":"2.0","id":1,"method":"server.info"}\n'
    assert json.loads(outrider(*words, env=env, stdin=call).stdout)["result"]["limits"]["inlineBytes"] == 2000
    unread = outrider("serve", "--stdio", "--no-config", env=env, stdin=call)
    assert json.loads(unread.stdout)["result"]["limits"]["inlineBytes"] == 1048576


SETTINGS = json.loads((contract.ROOT / "schema/settings.json").read_text())["settings"]
SAMPLES = {"OUTRIDER_LOG": "info", "OUTRIDER_LOG_FORMAT": "json", "OUTRIDER_CREDENTIAL_KEY": "none",
           "OUTRIDER_MEMORY": "33554432", "OUTRIDER_LOOPS": "2", "OUTRIDER_PROXY": "none",
           "OUTRIDER_NO_DEVICE_LOGIN": "1"}


@pytest.mark.parametrize("setting", [
    setting for setting in SETTINGS
    if (setting["environment"] or "").startswith("OUTRIDER_") and setting["key"] not in ("socket", "config")
], ids=lambda setting: setting["key"])  # fmt: skip
def test_each_variable_wins_over_the_file(home, setting):
    place, env = home
    key, variable = setting["flag"].removeprefix("--"), setting["environment"]
    value = SAMPLES.get(variable, str(place / "x"))
    configure(place, f"{key}: {'true' if setting['type'] == 'boolean' else value}\n")
    shown = outrider("config", env={**env, variable: value})
    assert f"(overruled by ${variable})" in shown.stdout.decode(), shown


def test_a_password_of_a_proxy_is_not_shown(home):
    place, env = home
    configure(place, "proxy: http://ada:s3c@ret@proxy.example:3128/\n")
    shown = outrider("config", env=env).stdout.decode()
    assert "proxy: http://***@proxy.example:3128/  (line 1)" in shown, shown


def test_the_file_wins_over_the_trust_roots_of_the_first_caller(home, listen, certificates):
    place, env = home
    url = f"https://127.0.0.1:{listen('good')}/"
    (place / "roots.pem").write_bytes((certificates / "ca.pem").read_bytes())
    bundle = {**env, "SSL_CERT_FILE": "/etc/ssl/certs/ca-certificates.crt"}
    refused(outrider("get", "--stdio", url, env=bundle), 13)
    for path in ("~/roots.pem", "../../roots.pem"):
        configure(place, f"ca-file: {path}\n")
        assert outrider("get", "--stdio", url, env=bundle).returncode == 0
    assert "ca-file: " in outrider("config", env=env).stdout.decode()


@pytest.mark.parametrize(
    "text, line, said",
    [
        ("max-inline: 5\nwolf: 1\n", 2, "no setting wolf"),
        ("max-inline: many\n", 1, "max-inline"),
        ("max-inline: 99999999999\n", 1, "max-inline must be from 0"),
        ("socket: /tmp/x\n", 1, "socket has no place"),
        ("a: [\n", 2, ""),
        ("- 1\n", 1, "name: value"),
        ("ca-file: {a: 1}\n", 1, "ca-file must be a text"),
        ("ca-file: x\nca-file: y\n", 2, "ca-file"),
        ("proxy: ftp://x\n", 1, "proxy"),
        ("no-pad: false\nca-fil: false\n", 2, "no setting ca-fil"),
        ("timeout-total: false\n", 1, "timeout-total needs a value"),
        ("timeout-total: -1\n", 1, "timeout-total must be from 0.001"),
        ("no-pad: yes\n", 1, "no-pad must be true or false"),
        ("timeout-totl: 5\n", 1, "did you mean timeout-total?"),
        ("timeout-total: 5s\n", 1, "timeout-total is 5s, and must be a number"),
        ("memory: 64M\n", 1, "memory is 64M, and must be a whole number"),
        ("log-level: loud\n", 1, "log-level is loud, and must be one of trace, debug"),
        ("ca-file: certs/ca.pem\n", 1, "ca-file is a relative path: write ./"),
        ("log-format: xml\n", 1, "log-format is xml, and must be one of text, json"),
        ("# a list\ntimeout-total: [1, 2]\n", 2, "timeout-total takes a single value"),
        ("idle-exit: [1]\n", 1, "idle-exit takes a single value: write `idle-exit: 1`"),
        ("idle-exit: []\n", 1, "idle-exit takes a single value: give one"),
        ("idle-exits: []\n", 1, "did you mean idle-exit?"),
        ("log-level: info\nproxy:\n  host: x\n  port: 3\n", 2, "proxy must be a text"),
        ("proxyy:\n\n  host: x\n", 1, "did you mean proxy?"),
        ("allow-uid:\n  - 1\n  - {a: 1}\n", 3, "allow-uid must be a text"),
        ("routers:\n  - /r\n  - here\n", 3, "routers is a relative path"),
    ],
)
def test_a_fault_of_the_file_has_its_line(home, text, line, said):
    place, env = home
    file = configure(place, text)
    for words in (["config"], ["serve", "--stdio"], ["call", "--spawn", "server.info"]):
        done = outrider(*words, env=env)
        message = done.stderr.decode()
        assert done.returncode != 0 and f"{file}, line {line}: " in message and said in message, message


@pytest.mark.parametrize("text, line", [
    ("\nrouters: ./absent\n", 2), ("tls-key-log: /nonexistent/x\n", 1), ("# one\nreplay: ./absent\n", 2)])
def test_a_setting_that_only_the_start_can_check_has_its_line_too(home, text, line):
    place, env = home
    file = configure(place, text)
    for words in (["serve", "--stdio"], ["call", "--spawn", "server.info"]):
        message = outrider(*words, env=env).stderr.decode()
        assert f"({file}, line {line})" in message and "no such file" in message, message
    key = text.strip().splitlines()[-1].split(":")[0]
    flagged = outrider("serve", "--stdio", f"--{key}=/nonexistent/y", env=env).stderr.decode()
    assert "/nonexistent/y" in flagged and str(file) not in flagged, flagged


def test_a_service_that_ends_at_once_waits_for_its_first_client(home):
    place, env = home
    configure(place, "idle-exit: 0\n")
    for _ in range(3):
        assert outrider("call", "--spawn", "server.info", env=env).returncode == 0


def test_a_started_service_has_the_variable_that_a_setting_names(home):
    place, env = home
    configure(place, "tls-key-log: environment\n")
    keys = place / "keys"
    done = outrider("call", "--spawn", "server.info", env={**env, "SSLKEYLOGFILE": str(keys)})
    assert done.returncode == 0 and keys.exists(), done.stderr


def test_relative_paths_of_variables_begin_at_the_program_that_starts_the_service(home, origin):
    place, env = home
    paths = {"OUTRIDER_CACHES": "c", "OUTRIDER_JARS": "j", "OUTRIDER_LOG_FILE": "log", "OUTRIDER_LOG": "info"}
    assert outrider("get-socket", env={**env, **paths}, cwd=place).returncode == 0
    words = ["get", "--cache", "docs", "--jar", "work", origin + "/file/5"]
    assert outrider(*words, env=env).returncode == 0
    assert outrider("stop", env=env).returncode == 0
    assert (place / "c/docs").is_dir() and (place / "j/work").is_dir() and (place / "log").is_file()


def test_an_empty_socket_is_no_place(home):
    """The service listened at the usual place of the user."""
    _, env = home
    for words in (["--socket", ""], ["--socket", "", "--idle-exit", "0"]):
        refused(outrider("serve", *words, env=env), 2, "--socket names no path", "leave out --socket")


def test_a_file_that_every_user_may_write_is_refused(home):
    place, env = home
    file = configure(place, "max-inline: 5\n")
    file.chmod(0o666)
    for words in (["config"], ["serve", "--stdio"]):
        refused(outrider(*words, env=env), 2, f"chmod o-w {file}")
    file.chmod(0o664)
    assert outrider("config", env=env).returncode == 0


def test_a_missing_runtime_directory_and_a_long_one_name_the_remedy(home):
    place, env = home
    missing = {**env, "XDG_RUNTIME_DIR": str(place / "absent")}
    refused(outrider("get-socket", env=missing), 3, "set XDG_RUNTIME_DIR", "--socket")
    deep = place / ("d" * 100)
    deep.mkdir(mode=0o700)
    for command in ("get-socket", "status"):
        refused(outrider(command, env={**env, "XDG_RUNTIME_DIR": str(deep)}), 2, str(deep), "$OUTRIDER_SOCKET")


def test_a_relative_runtime_directory_counts_for_no_client(home):
    place, _ = home
    script = contract.ROOT / "clients/shell/outrider-call"
    env = {"PATH": os.environ["PATH"], "HOME": str(place), "XDG_RUNTIME_DIR": "relative"}
    said = subprocess.run([script, "server.info"], cwd=place, env=env, capture_output=True).stderr
    assert b"relative" not in said, said
    assert b"relative" not in outrider("status", env={"XDG_RUNTIME_DIR": "relative"}, cwd=place).stderr


def test_a_missing_home_is_no_fault_of_the_configuration(home):
    _, env = home
    shown = outrider("config", env={**env, "HOME": "", "XDG_CONFIG_HOME": ""})
    assert shown.returncode == 0 and b"HOME is not set" in shown.stdout


def test_a_named_file_has_to_exist_and_to_belong_to_the_user(home):
    place, env = home
    refused(outrider("serve", "--stdio", "--config", "/none.yaml", env=env), 2, "/none.yaml")
    refused(outrider("config", env={**env, "OUTRIDER_CONFIG": "/none.yaml"}), 2, "/none.yaml")
    assert b"no configuration" in outrider("config", env={**env, "OUTRIDER_CONFIG": "none"}).stdout
    refused(outrider("config", "--path", env={**env, "OUTRIDER_CONFIG": "none"}), 2, "OUTRIDER_CONFIG is none")
    os.mkfifo(place / "pipe")
    refused(outrider("config", "--config", str(place / "pipe"), env=env), 2, "pipe")
    if os.geteuid() == 0:
        foreign = configure(place, "max-inline: 5\n")
        os.chown(foreign, 12345, 12345)
        refused(outrider("config", env=env), 2, "12345")


def test_the_doctor_finds_faults_and_names_remedies(home):
    place, env = home
    well = outrider("doctor", env=env)
    assert well.returncode == 0, well.stdout
    assert b"note   service: none runs" in well.stdout
    outrider("restart", env=env)
    said = outrider("doctor", env=env).stdout
    assert b"ok     service: version" in said and b"ok     lock: held by process" in said
    assert b"ok     environment: " in said and b" key: " in said
    other = outrider("doctor", env={**env, "https_proxy": "http://wolf:canary@127.0.0.1:1"}).stdout
    assert b"note   environment: " in other and b"https_proxy (not set)" in other and b"canary" not in other
    outrider("stop", env=env)
    secret = {"OUTRIDER_MY_TOKEN": "canary", "OUTRIDER_CREDENTIAL_KEY": "command:pass --token canary"}
    outrider("restart", env={**env, **secret})
    for words in (["doctor"], ["call", "server.info"]):
        assert b"canary" not in outrider(*words, env={**env, **secret}).stdout
    outrider("stop", env=env)
    outrider("restart", env=env)
    sick = outrider("doctor", env={**env, "SSL_CERT_FILE": "/none.pem", "https_proxy": "wolf://x"})
    said = sick.stdout.decode()
    assert sick.returncode == 1 and "FAULT  trust roots: /none.pem" in said and "FAULT  proxies: https_proxy" in said
    configure(place, "wolf: 1\n")
    said = outrider("doctor", env=env).stdout.decode()
    assert "FAULT  configuration" in said and "FAULT  key: " in said and "CommandFailure" not in said, said


def test_the_doctor_finds_that_no_service_can_start(home):
    place, env = home
    absent = place / "absent"
    sick = outrider("doctor", env={**env, "XDG_RUNTIME_DIR": str(absent)})
    said = sick.stdout.decode()
    assert sick.returncode == 1 and f"none can start: the directory {absent} cannot be used" in said, said
    assert "set XDG_RUNTIME_DIR" in said and not absent.exists()
    said = outrider("doctor", "--socket", str(absent / "below/socket"), env=env).stdout.decode()
    assert f"none can start: the directory {absent} cannot be used" in said and "set XDG_RUNTIME_DIR" not in said
    # the start makes a directory
    assert "none can start" not in outrider("doctor", "--socket", str(absent / "socket"), env=env).stdout.decode()


def test_the_doctor_compares_all_variables_that_settings_have(home):
    _, env = home
    outrider("restart", env=env)
    other = {"OUTRIDER_CACHES": "/tmp/x", "OUTRIDER_LOOPS": "2", "OUTRIDER_REPLAY": "/tmp/x.har"}
    said = outrider("doctor", env={**env, **other}).stdout.decode()
    assert all(f"{name} (not set)" in said for name in other), said


def test_a_path_that_is_no_socket_is_told_and_gets_no_files_beside_it(home):
    place, env = home
    folder = place / "folder"
    folder.mkdir(mode=0o700)
    refused(outrider("get-socket", "--socket", str(folder), env=env), 3, "is no socket")
    assert sorted(place.glob("folder?*")) == []
    said = outrider("doctor", "--socket", str(folder), env=env)
    assert said.returncode == 1 and f"FAULT  service: {folder} is no socket" in said.stdout.decode()


def test_a_start_that_fails_tells_the_reason_and_not_the_advice_after_it(home):
    _, env = home
    said = refused(outrider("get-socket", env={**env, "OUTRIDER_LOOPS": "many"}), 3, "OUTRIDER_LOOPS, is many")
    assert "--help" not in said


def test_stop_does_not_wait_for_a_parent_that_reaps_nothing(home):
    """As the first process of many containers."""
    _, env = home
    service = subprocess.Popen([contract.binary(), "serve"], env={**os.environ, **env}, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 20
        while outrider("status", env=env).returncode != 0 and time.monotonic() < deadline:
            time.sleep(0.05)
        done = outrider("stop", env=env)
        assert done.returncode == 0 and b"has ended" in done.stdout, done
    finally:
        service.kill()
        service.wait()


def test_a_service_of_a_replaced_program_is_told(home, tmp_path):
    _, env = home
    copy = tmp_path / "copy"
    subprocess.run(["cp", contract.binary(), str(copy)], check=True)
    clean = {**os.environ, **env}
    service = subprocess.Popen([str(copy), "serve"], env=clean, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 20
        while outrider("status", env=env).returncode != 0 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert b"another program file" in outrider("status", env=env).stderr
        copy.unlink()
        assert b"was replaced since its start" in outrider("status", env=env).stderr
    finally:
        service.send_signal(signal.SIGTERM)
        service.wait()
