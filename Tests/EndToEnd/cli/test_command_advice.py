# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Mistakes of a first hour: the exit status is the documented one, and the message says what to write instead."""

import json
import os

import contract
import pytest
from shell import outrider, refused

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
URL = "http://127.0.0.1:9/"


@pytest.mark.parametrize(
    "command, option, advice",
    [
        ("download", "-L", "not needed: redirects are followed"), ("sse", "--location", "not needed"),
        ("sse", "-N", "as it arrives"), ("sse", "--anyauth", "-u NAME"), ("post", "-C", "outrider download"),
        ("download", "-#", "progress"), ("download", "--url-query", "outrider get"),
        ("get", "--ntlm", "not there"), ("get", "--negotiate", "not there"),
        ("download", "-R", "touch -d"), ("download", "--no-clobber", "--force"), ("get", "--no-clobber", "--force"),
        ("download", "-O", "server suggests"), ("download", "--remote-header-name", "server suggests"),
        ("download", "--output-dir", "-o DIRECTORY/"),
        ("download", "--unix-socket", "http+unix://%2Frun%2Fname.sock/path"),
        ("download", "--proto", "not needed"), ("get", "--bearer", "--oauth2-bearer TOKEN"),
        ("download", "-z", "outrider get -z FILE"), ("sse", "--time-cond", "outrider get"),
        ("get", "--interface", "routes"), ("download", "--create-dirs", "mkdir -p"), ("sse", "-K", "command line"),
        ("download", "--next", "one command for each"), ("get", "--post302", "last URL"), ("get", "-3", "TLS 1.2"),
        ("get", "--mail-from", "http and https"), ("get", "--expand-data", "shell"),
        ("get", "--no-fail", "--fail holds"),
        ("get", "--auth", "-u NAME"), ("get", "-a", "-u NAME"), ("post", "--verify", "-k"),
        ("get", "--print", "-v"), ("get", "--download", "outrider download"), ("get", "--session", "--jar"),
        ("get", "--no-check-certificate", "-k"), ("download", "--no-check-certificate", "-k"),
        ("get", "--post-data", "-d DATA"), ("download", "--spider", "outrider head"), ("get", "--quiet", "-s"),
        ("get", "-qO-", "standard output"), ("get", "-P", "--output-dir"), ("download", "-P", "-o DIRECTORY/"),
        ("sse", "-P", ">FILE"),
        ("get", "-Y", "--timeout"), ("download", "--etag-save", "outrider get"), ("get", "--stderr", "2>FILE"),
        ("download", "-C", "resumes"), ("download", "--fail", "not needed"), ("download", "-Z", "--segments"),
        ("download", "-w", "outrider get"), ("download", "-K", "command line"),
        ("download", "--connect-timeout", "outrider get"),
        ("sse", "-C", "--last-event-id"), ("sse", "--retry", "opened again"), ("sse", "-m", "timeout SECONDS"),
        ("sse", "-v", "outrider get"), ("sse", "-o", ">FILE"),
    ],
)
def test_an_option_of_curl_that_does_not_exist_names_its_replacement(command, option, advice):
    said = refused(outrider(command, option, URL), 2, option, advice)
    assert "Usage" not in said and said.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (["gett", URL], "did you mean get"), (["https://example.org/"], "`outrider get https://example.org/`"),
        ([":8080/x"], "outrider get :8080/x"), (["downlod"], "download"), (["frobnicate"], "--help"),
        (["help", "gett"], "did you mean get"), (["localhost:8080/x"], "`outrider get localhost:8080/x`"),
        (["version"], "--version"), (["-V"], "--version"), (["curl", URL], "outrider import 'curl"),
        (["upload", URL], "write `outrider put -T FILE URL`"), (["ws", URL], "write `outrider websocket URL`"),
        (["session", "list"], "--jar NAME"), (["start"], "outrider get-socket"), (["OPTIONS", URL], "-X OPTIONS"),
        (["http", URL], "did you mean get?"), (["GET", URL], "did you mean get?"), (["wget", URL], "did you mean get?"),
        (["-X", "POST", URL], "`outrider get -X"), (["--include", URL], "`outrider get --include"),
    ],
)  # fmt: skip
def test_a_command_that_does_not_exist_names_the_next_one(words, advice):
    assert refused(outrider(*words), 2, words[-1] if words[0] == "help" else words[0], advice).count("\n") == 1


@pytest.mark.parametrize("command", ["get", "post", "download", "sse"])
def test_the_version_needs_no_url(command):
    assert refused(outrider(command, "-V"), 2, "-V: write --version").count("\n") == 1


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (["cookies", "expor"], "did you mean cookies export?"), (["cache", "wolf"], "list, get, delete, stats, verify"),
        (["credentials", "unlok"], "did you mean credentials unlock?"),
    ],
)  # fmt: skip
def test_a_command_below_a_command_that_does_not_exist_names_the_next_one(words, advice):
    assert refused(outrider(*words), 2, " ".join(words), advice).count("\n") == 1


@pytest.mark.parametrize("words", [["curl", URL], ["--run", "curl", "-d", "a=b", URL], ["curl", "-X", "POST", URL]])
def test_a_command_line_of_several_words_is_told_to_be_one(words):
    assert refused(outrider("import", *words), 2, "as one word", "quotes").count("\n") == 1


def test_a_file_behind_the_url_of_a_download_names_the_option():
    assert refused(outrider("download", URL, "out.bin"), 2, "-o names the file").count("\n") == 1


def test_a_word_that_is_written_like_its_command_gets_no_advice():
    assert "there is no command" not in refused(outrider("login", "work", "login"), 2, "login")


@pytest.mark.parametrize("command", ["get", "post", "download", "sse"])
def test_an_option_that_curl_has_not_keeps_the_parser_s_complaint(command):
    """An option of no command is none of `outrider get` either."""
    said = refused(outrider(command, "--nonsense", URL), 2, "Unknown option '--nonsense'")
    assert "has this option" not in said


@pytest.mark.parametrize(("command", "option", "near"), [
    ("download", "--cheksum", "--checksum"), ("download", "--segmnts", "--segments"),
    ("sse", "--reconect", "--reconnect"),
])  # fmt: skip
def test_a_misspelt_option_of_another_command_gets_its_own_suggestion(command, option, near):
    refused(outrider(command, option, URL), 2, f"Unknown option '{option}'", f"Did you mean '{near}'")


@pytest.mark.parametrize(("option", "advice"), [
    ("-c", "resumes"), ("-q", "-s"), ("--quiet", "-s"), ("--tries", "--retry"), ("-O", "-o FILE"),
])  # fmt: skip
def test_an_option_of_wget_names_its_replacement(option, advice):
    refused(outrider("download", option, URL), 2, option, advice)


@pytest.mark.parametrize(
    ("option", "near"),
    [("--nosuch", None), ("--libcurl", None), ("--xattr", None), ("--inclued", "--include"), ("--outpu", "--output")],
)  # fmt: skip
def test_only_a_near_option_is_suggested(option, near):
    said = refused(outrider("get", option, URL), 2, f"Unknown option '{option}'")
    assert ("Did you mean" in said) == (near is not None) and (near or "") in said


def test_a_pasted_option_that_does_not_exist_names_its_replacement():
    refused(outrider("import", f"curl -C - {URL}"), 2, "-C", "outrider download")
    assert "mean" not in refused(outrider("import", f"curl --nosuch {URL}"), 2, "--nosuch")


def test_the_line_ends_of_powershell_are_told():
    for end in ("\n", "\r\n"):
        refused(outrider("import", f"curl.exe -X POST `{end}  {URL}"), 2, "PowerShell", "\\ in place of `")


def test_an_option_of_another_tls_library_changes_nothing():
    for option in ("--ssl-no-revoke", "--ssl-revoke-best-effort", "--no-styled-output"):
        assert outrider("import", f"curl {option} {URL}").returncode == 0
    followed = json.loads(outrider("import", f"curl --follow {URL}").stdout)
    assert "redirect" not in followed


def test_a_url_of_another_protocol_is_refused():
    """Without a scheme, curl takes the protocol from the name of the host."""
    for word in ("ftp.example.org", "FTP.example.org/a", "me@ftp.example.org", "imap.example.org", "ftp://example.org/a"):
        refused(outrider("import", f"curl {word}"), 2, "is not supported", "http")
    for word in ("ftp://me:s3cret@example.org/", "me:s3cret@ftp.example.org"):
        assert "s3cret" not in refused(outrider("import", f"curl {word}"), 2, "FTP")
    for words in ("http://ftp.example.org", "--proto-default https ftp.example.org", "ftpexample.org", "a.org/ftp.b"):
        assert json.loads(outrider("import", f"curl {words}").stdout)["url"].startswith("http")


@pytest.mark.parametrize(
    "words, status, advice",
    [
        (("get", "--stdio", "-o", "/nonexistent/x", URL), 16, "/nonexistent/x"),
        (("get", "--stdio", "ftp://example.org/"), 10, "http or https"),
        (("download", "--stdio", "ftp://example.org/"), 10, "http or https"),
        (("get", "--stdio", "-x", "socks4://127.0.0.1:1", URL), 2, '-x: the scheme of a proxy cannot be "socks4": use'),
        (("download", "-x", "http://127.0.0.1:99999", URL), 2, "-x: the proxy is no proxy's URL: the port"),
        (("get", "-o", "", URL), 2, "--output is empty: name a file"),
        (("download", "-o", "", URL), 2, "--output is empty: name a file"),
        (("download", "--sha256", "abc", URL), 2, "32 bytes in hexadecimal"),
        (("download", "--checksum", "crc32=00", URL), 2, "sha-256"),
        (("download", "--checksum", "sha-256", URL), 2, "="),
        (("get", "--stdio", "http://me:secret@127.0.0.1:9/"), 10, "-u NAME"),
        (("call", "--stdio", "data"), 2, "data.send, data.start"),
        (("call", "--stdio", "data.sendd"), 2, "data.send"),
        (("describe", "RequestSpc"), 2, "did you mean RequestSpec?"),
        (("describe", "event.finsh"), 2, "did you mean event.finish?"),
        (("login", "absent", "--stdio"), 11, "--issuer URL"),
        (("login", "absent", "--timeout", "0"), 2, "above 0"),
        (("call", "--stdio", "data.send", "url=" + URL, "timeout=10"), 2, "timeout:=10"),
        (("call", "--stdio", "data.send", "url=" + URL, "metrics=true"), 2, "metrics:=true"),
        (("call", "--stdio", "data.send", '{"url'), 2, "the text of the parameters is no JSON"),
        (("call", "--stdio", "data.send", "url:=abc"), 2, "url=text"),
        (("get", "--jar", "a/b", URL), 2, "--jar must have 1 to 64 letters"),
        (("get", "--cache", "", URL), 2, "--cache must have 1 to 64 letters"),
        (("get", "--retry-delay", "1", URL), 2, "--retry COUNT"),
        (("get", "--retry", "1", "--retry-max-time=-1", URL), 2, "--retry-max-time must be from 0"),
        (("get", "--max-filesize", "many", URL), 2, "500k"),
        (("get", "-m", "nan", URL), 2, "0 for no limit"),
        (("connect", "127.0.0.1:0"), 2, "1 to 65535"),
        (("connect", "::1:25"), 2, "[::1]:25"),
        (("connect", "mail.example"), 2, "HOST and PORT"),
        (("connect", "mail.example", "smtp"), 2, "PORT is smtp"),
    ],
)
def test_a_mistake_has_its_documented_status_and_a_remedy(words, status, advice):
    said = refused(outrider(*words), status, advice)
    assert "secret" not in said


def test_text_that_looks_like_json_stays_text_where_text_is_allowed(origin):
    done = outrider("call", "--stdio", "data.send", f"url={origin}/json", "tag=12")
    assert done.returncode == 0 and json.loads(done.stdout)["tag"] == "12"


@pytest.mark.parametrize(
    "parameters, message",
    [
        ('{"serialize":{"as":"yaml"}}', "serialize.as must be one of"),
        ('{"handlers":[{"id":"a","serialize":{"as":"yaml"}}]}', "handlers[0].serialize.as must be one of"),
        ('{"timeout":{"conect":1}}', "timeout has no member conect (did you mean connect?)"),
        ('{"timeot":1}', "unknown parameter timeot (did you mean timeout?)"),
        ('{"interceptors":[3]}', "interceptors[0] must be the handle of an interceptor"),
        ('{"retry":{"statuses":[99]}}', "retry.statuses[0] must be from 100"),
        ('{"tls":{"ciphers":["x"]}}', "tls.ciphers[0] names no cipher suite"),
    ],
)
def test_a_complaint_names_the_whole_path_of_a_nested_member(line, parameters, message):
    error = line.call("data.send", {"url": URL, **json.loads(parameters)})["error"]
    assert error["code"] == -32602 and error["message"].startswith(message)


@pytest.mark.parametrize(
    "method, parameters, message",
    [
        ("stub.add", {"url": "/x"}, "params must have exactly one of response"),
        ("session.create", {"cookies": "a/b"}, "cookies must have 1 to 64 letters"),
        ("websocket.open", {"url": "ws://127.0.0.1:1/", "protocols": ["a b"]}, "protocols[0] must be a token"),
    ],
)
def test_a_complaint_has_a_subject_once(line, method, parameters, message):
    error = line.call(method, parameters)["error"]
    assert error["code"] == -32602 and error["message"].startswith(message), error


def test_the_help_of_a_command_that_takes_any_words():
    done = outrider("credentials", "key", "--help")
    assert done.returncode == 0 and b"secret-service" in done.stdout


def test_a_service_that_cannot_start_says_why(tmp_path):
    place = tmp_path / "s"
    place.write_text("no socket")
    os.chmod(tmp_path, 0o700)
    refused(outrider("call", "--socket", str(place), "--spawn", "server.info"), 3, "is no socket")


@pytest.mark.parametrize("path", ["file.txt", "./file.txt", "~other/file"])
def test_a_relative_path_of_a_body_is_refused_before_any_file_is_opened(line, path):
    failure = line.call("upload.send", {"url": URL, "body": {"file": path}})["result"]["error"]
    assert (failure["code"], failure["pointer"]) == (1103, "/body/file") and "~/" in failure["message"]
    parts = [{"name": "a", "file": path}]
    failure = line.call("upload.send", {"url": URL, "body": {"multipart": parts}})["result"]["error"]
    assert failure["code"] == 1220 and "~/" in failure["message"]


def test_a_path_below_the_home_directory_is_sent(origin, tmp_path):
    (tmp_path / "file.txt").write_text("at home")
    with contract.Wire(under=["env", f"HOME={tmp_path}"]) as wire:
        body = {"file": "~/file.txt"}
        sent = wire.call("upload.send", {"url": origin + "/echo", "body": body})["result"]
        assert sent["body"]["json"]["body"] == "at home"
        parts = [{"name": "a", "file": "~/file.txt"}]
        sent = wire.call("upload.send", {"url": origin + "/echo", "body": {"multipart": parts}})["result"]
        assert "at home" in sent["body"]["json"]["body"]


@pytest.mark.parametrize("url", ["", "ht tp://x", "http://h:99999/"])
def test_a_wrong_url_fails_before_a_missing_file(line, url):
    failure = line.call("upload.send", {"url": url, "body": {"file": "/nonexistent"}})["result"]["error"]
    assert failure["pointer"] == "/url"


def test_a_fragment_stays_in_what_results_name(line, origin):
    """RFC 9110 section 10.2.2: a redirect without a fragment inherits the one of its request."""
    built = line.call("request.build", {"url": origin + "/json#a%20b"})["result"]
    assert built["url"] == origin + "/json#a%20b"
    sent = line.call("data.send", {"url": origin + "/echo#part"})["result"]
    assert sent["url"] == origin + "/echo#part" and "#" not in sent["body"]["json"]["target"]
    led = line.call("data.send", {"url": origin + "/redirect/2#part"})["result"]
    assert led["url"] == origin + "/json#part"
    assert [hop["url"] for hop in led["redirects"]] == [origin + "/redirect/1#part", origin + "/json#part"]


def test_the_command_for_curl_follows_redirects_where_the_request_does(get, line, origin):
    assert " -L " in get("--curl", origin + "/json").stdout.decode()
    built = line.call("request.build", {"url": origin + "/json", "redirect": "none"})["result"]
    assert "-L" not in built["curl"]
