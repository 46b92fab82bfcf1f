# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Every check can fail: a fault is planted for each, and the check must name it and say how to mend it."""

import shutil
import subprocess
import sys

import pytest
from house import CHECKOUT, HASH_HEAD, PACKAGE, SWIFT_HEAD

RPC = "Sources/OutriderRPC/"
BODY = SWIFT_HEAD + "func f() {{\n    {}\n}}\n"

PACKAGE_PLACE = "clients/python/src/outrider/"
FRAMES = PACKAGE_PLACE + "_protocol/frames.py"
LATE_IMPORT = HASH_HEAD + "LIMIT = 1\n\n\ndef most() -> int:\n    from .._sync.events import MOST\n\n    return MOST\n"
TYPE_IMPORT = HASH_HEAD + "TYPE_CHECKING = False\nif TYPE_CHECKING:\n    from .._sync import events\n"
NAMES = HASH_HEAD + '_WHERE = {\n    "_sync.client": "get",\n}\n'
HIDDEN_IMPORT = HASH_HEAD + "client = __import__('outrider.client')\n"

SCANNER = "Sources/OutriderJSON/JSONScanner.swift"
SWIFT_TABLE = 'let rows = ["x [A3]"]\n\n@Test(arguments: rows) func it() {}\n'
OUTSIDE = PACKAGE.replace('"OutriderJSON"', '"OutriderHTTP"')

# check, file that gets the fault, its text, what the check must say about it
FAULTS = [
    ("headers", RPC + "Bare.swift", "struct Bare {}\n", "Bare.swift: the licence header"),
    ("headers", "scripts/tool", "#!/bin/sh\necho\n", "scripts/tool: the licence header"),
    ("sizes", RPC + "Long.swift", SWIFT_HEAD + "//\n" * 400, "Long.swift: 403 lines, at most 400"),
    ("sizes", "Makefile", HASH_HEAD + "#\n" * 60, "Makefile: 62 lines, at most 60"),
    ("names", RPC + "Utils/Frame.swift", SWIFT_HEAD, "Utils says nothing"),
    ("names", RPC + "FrameHelper.swift", SWIFT_HEAD, "FrameHelper.swift says nothing"),
    ("names", RPC + "A.swift", SWIFT_HEAD + "struct CallManager {}\n", "CallManager says nothing"),
    ("names", RPC + "A.swift", SWIFT_HEAD + "struct CallHandler {}\n", "no library demands it"),
    ("names", "docs/two words.md", "#\n", "a space in a path"),
    ("words", RPC + "A.swift", BODY.format("print(1)"), "stdout belongs to the protocol"),
    ("words", RPC + "A.swift", BODY.format("try! g()"), "A.swift:5: try! g()"),
    ("words", RPC + "A.swift", BODY.format("let a = b as! C"), "a crash here"),
    ("words", RPC + "A.swift", BODY.format("fatalError()"), "a crash here"),
    ("words", RPC + "A.swift", SWIFT_HEAD + "nonisolated(unsafe) var a = 1\n", "Mutex"),
    ("words", RPC + "A.swift", SWIFT_HEAD + "actor Store {}\n", "Mutex"),
    ("words", RPC + "A.swift", SWIFT_HEAD + "internal import Foundation\n", "Foundation is not linked"),
    ("words", RPC + "A.swift", SWIFT_HEAD + "public struct A {}\n", "use `package`"),
    ("words", RPC + "A.swift", SWIFT_HEAD + "// it is\nfinal class A: @unchecked Sendable {}\n", "proof"),
    ("words", RPC + "A.swift", SWIFT_HEAD + "// TO" + "DO later\n", "unfinished"),
    ("words", RPC + "A.swift", BODY.format("let answer = 1"), "say response"),
    ("conversions", RPC + "Framing/A.swift", BODY.format("let a = Int(length)"), "A.swift:5: let a = Int(length)"),
    ("conversions", RPC + "Framing/A.swift", BODY.format("let a = UInt8(byte + 1)"), "A.swift:5"),
    ("conversions", SCANNER, BODY.format("let a = UInt16(value)"), "JSONScanner.swift:5"),
    ("waits", "Tests/test_a.py", HASH_HEAD + "time.sleep(0.5)\n", "Tests/test_a.py:3: sleeps 0.5 s"),
    ("waits", "Tests/ATests.swift", SWIFT_HEAD + "Task.sleep(for: .seconds(1))\n", "ATests.swift:4: sleeps 1.0 s"),
    ("waits", "Tests/ATests.swift", SWIFT_HEAD + "Task.sleep(for: .milliseconds(201))\n", "sleeps 0.201 s"),
    ("manifest", "Package.swift", OUTSIDE, "must not depend on OutriderHTTP"),
    ("manifest", "Package.swift", PACKAGE.replace("OutriderRPC", "Outsider"), "Outsider has no row"),
    ("imports", RPC + "A.swift", SWIFT_HEAD + "import NIOCore\n", "A.swift:4: OutriderRPC must not import NIOCore"),
    ("imports", "Sources/OutriderMethods/A.swift", SWIFT_HEAD + "package import NIOPosix\n", "import NIOPosix"),
    ("imports", "Sources/Attic/A.swift", SWIFT_HEAD, "Attic has no row"),
    ("circles", RPC + "Framing/Back.swift", SWIFT_HEAD + "let back: Call? = nil\n", "Calls → Framing → Calls"),
    ("circles", RPC + "Loose.swift", SWIFT_HEAD + "struct Loose {\n    var call: Call\n}\n", None),
    ("client", FRAMES, LATE_IMPORT, "circle: _protocol.frames → _sync.events → _protocol.frames"),
    ("client", FRAMES, TYPE_IMPORT, "frames.py:5: _protocol must not import _sync.events"),
    ("client", FRAMES, HIDDEN_IMPORT, "frames.py:3: __import__ hides an import"),
    ("unasync", PACKAGE_PLACE + "_sync/client.py", HASH_HEAD, "_sync/client.py is not what _async/client.py says"),
    ("unasync", PACKAGE_PLACE + "_async/client.py", HASH_HEAD, "_sync/client.py is not what _async/client.py says"),
    ("unasync", PACKAGE_PLACE + "_async/streams.py", HASH_HEAD, "_sync/streams.py is not what _async/streams.py says"),
    ("unasync", PACKAGE_PLACE + "_sync/streams.py", HASH_HEAD, "_sync/streams.py has no source in _async"),
    ("unasync", PACKAGE_PLACE + "_dropins/async_calls.py", HASH_HEAD, "is not what _dropins/async_calls.py says"),
    ("unasync", PACKAGE_PLACE + "__init__.py", NAMES, "__init__.pyi is not what __init__.py says"),
    ("prose", RPC + "A.swift", SWIFT_HEAD + "/// Nil if nobody asks.\n", RPC[:-1] + ": 1 of anybody"),
    ("prose", RPC + "A.swift", BODY.format('throw Fault("somebody")'), RPC[:-1] + ": 1 of anybody"),
    ("prose", "docs/a.md", "# A\n\nWhoever reads this.\n", "docs/a.md: 1 of anybody"),
    ("prose", "docs/a.md", "What it says, those who read it want. " * 40, "docs/a.md: 62.5"),
    ("prose", "schema/methods/a.json", '{"description": "For anybody."}\n', "schema: 1 of anybody"),
    ("prose", "schema/methods/b.json", '{"description": ["For anybody."]}\n', "schema: 1 of anybody"),
    ("prose", PACKAGE_PLACE + "a.py", HASH_HEAD + '"""For nobody."""\n', "clients/python/src: 1 of anybody"),
    ("prose", "Tests/Room/test_a.py", HASH_HEAD + "# whoever asks\n", "Tests/Room: 1 of anybody"),
    ("prose", "Tests/Room/ATests.swift", SWIFT_HEAD + "@Test func `nobody asks`() {}\n", "Tests/Room: 1 of anybody"),
    ("prose", "scripts/a.py", HASH_HEAD + '"""Somebody asks."""\n', "scripts: 1 of anybody"),
    ("links", "docs/a.md", "[a](b.md)\n", "docs/a.md:1: b.md leads nowhere"),
    ("links", "docs/a.md", "[a](reference/server.md#nowhere)\n", "no such heading"),
    ("schema", "schema/assemble.py", HASH_HEAD + "print('openrpc.json')\nraise SystemExit(1)\n", "openrpc.json"),
    ("docs", "schema/methods/no.such.json", "{}\n", "docs/reference/no.md: no.such is not described"),
    ("docs", "schema/methods/server.no.json", "{}\n", "docs/reference/server.md: server.no is not described"),
    ("docs", "docs/guide/lost.md", "# Lost\n", "docs/guide/lost.md: no list of pages names it"),
    ("methods", "schema/methods/server.no.json", "{}\n", "server.no: no file Sources/OutriderMethods/server/serverno"),
    ("rows", "Tests/test_one.py", HASH_HEAD + "def test_it() -> None:\n    pass\n", "A1 has no test: It is one."),
    ("rows", "Tests/test_two.py", HASH_HEAD + "def test_it() -> None:\n    '[A1]'\n", "docs/alamofire.md is not what"),
    ("rows", "Tests/ATests.swift", SWIFT_HEAD + "@Test func `it [A2]`() {}\n", "ATests.swift: [A2] is no row"),
    ("rows", "Tests/ATests.swift", SWIFT_HEAD + SWIFT_TABLE, "ATests.swift: [A3] is no row"),
    ("lint", "scripts/a.py", HASH_HEAD + "import os\n", "F401"),
    ("types", "clients/python/src/outrider/a.py", HASH_HEAD + "def f(x):\n    return x\n", "a.py:3"),
    ("format", RPC + "A.swift", SWIFT_HEAD + "struct A {\n  var b = 1\n}\n", "Indentation"),
]
# what looks like a fault and is none
ALLOWED = [
    ("sizes", RPC + "Long.swift", "// Generated by assemble.py\n" + "//\n" * 500),
    ("names", RPC + "A.swift", SWIFT_HEAD + "final class FrameHandler: ChannelInboundHandler {}\n"),
    ("names", RPC + "Base64.swift", SWIFT_HEAD + "struct BaseURL {}\n"),
    ("words", RPC + "A.swift", BODY.format('let a = "print( try! fatalError"  // try! print(')),
    ("words", RPC + "A.swift", BODY.format('let a = "answer"  // the question')),
    ("words", "Sources/outrider/GetCommand.swift", BODY.format("print(1)")),
    ("words", RPC + "A.swift", SWIFT_HEAD + "// proof: it is empty\nfinal class A: @unchecked Sendable {}\n"),
    ("conversions", RPC + "Framing/A.swift", BODY.format("let a = Int(exactly: length)")),
    ("conversions", RPC + "Framing/A.swift", BODY.format("let a = Int(byte) + Int(bytes[2]) + Int(line.count)")),
    ("conversions", RPC + "Framing/A.swift", BODY.format("let a = Int(length)  // safe: at most 15")),
    ("conversions", RPC + "Calls/A.swift", BODY.format("let a = Int(length)")),
    ("names", RPC + "CredentialHelper/CredentialHelper.swift", SWIFT_HEAD + "struct CredentialHelper {}\n"),
    ("waits", "Tests/test_a.py", HASH_HEAD + "time.sleep(0.2)\ntime.sleep(2)  # clock: a lease ends\n"),
    ("waits", "Tests/ATests.swift", SWIFT_HEAD + "Task.sleep(for: .milliseconds(200))\n"),
    ("prose", RPC + "A.swift", SWIFT_HEAD + "// nobody\nlet whoever = 1\n"),
    ("prose", "Tests/Room/test_a.py", HASH_HEAD + "NOBODY = 'nobody'  # `nobody`\nassert 'whoever'\n"),
    ("prose", "docs/a.md", "# A\n\n`nobody`\n\n| whoever |\n\n```\nsomebody\n```\n"),
    ("prose", "docs/a.md", "It is what it is.\n"),
    ("circles", RPC + "Calls/Other.swift", SWIFT_HEAD + "struct Other {\n    var call: Call\n}\n"),
    ("links", "docs/a.md", "[a](https://example.org/b.md) `[a](b)`\n\n```\n[a](c)\n```\n"),
]


def names_of(faults):
    return [f"{fault[0]}-{index}" for index, fault in enumerate(faults)]


def test_a_house_in_order_passes_every_check(house):
    outcome = house.check()
    assert outcome.status == 0, outcome.text
    assert " 0 failed, 0 skipped" in outcome.text


@pytest.mark.parametrize("check, place, text, said", FAULTS, ids=names_of(FAULTS))
def test_a_planted_fault_is_named_with_its_remedy(house, check, place, text, said):
    house.write(place, text)
    if said is None:  # half of a fault that needs two files
        house.write(RPC + "Framing/Back.swift", SWIFT_HEAD + "let back: Loose? = nil\n")
        said = "Calls → Framing → Loose.swift → Calls"
    outcome = house.check(check)
    assert outcome.status == 1, outcome.text
    assert said in outcome.text
    assert "    mend: " in outcome.text


@pytest.mark.parametrize("check, place, text", ALLOWED, ids=names_of(ALLOWED))
def test_what_only_looks_like_a_fault_passes(house, check, place, text):
    house.write(place, text)
    outcome = house.check(check)
    assert outcome.status == 0, outcome.text


def test_a_tracked_product_is_named(house):
    house.write("Package.resolved", "{}\n")
    house.git("add", "--force", "Package.resolved")
    outcome = house.check("tracked")
    assert outcome.status == 1
    assert "Package.resolved is tracked" in outcome.text and "mend: git rm" in outcome.text


def test_a_binary_with_foundation_in_it_is_named(house, links_foundation):
    house.copy_program(links_foundation())
    outcome = house.check("linkage")
    assert outcome.status == 1, outcome.text
    assert "is linked with libFoundation.so" in outcome.text and "mend: " in outcome.text


def test_foundation_linked_into_the_binary_is_found_too(house):
    with open(house.root / ".build/debug/outrider", "ab") as program:
        program.write(b"\0$s10Foundation4DataV\0")
    outcome = house.check("linkage")
    assert outcome.status == 1, outcome.text
    assert "holds symbols of full Foundation" in outcome.text


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler is here")
@pytest.mark.parametrize("flags, faults", [(["-Wl,-z,lazy,-rpath,$ORIGIN"], 2), (["-Wl,-z,now"], 0)])
def test_a_release_that_is_loaded_unsafely_is_named(house, flags, faults):
    house.write("main.c", "int main(void) { return 0; }\n")
    release = house.root / ".build/release"
    release.mkdir(parents=True)
    subprocess.run(["cc", "-o", release / "outrider", house.root / "main.c", *flags], check=True)
    outcome = house.check("linkage")
    assert outcome.status == (1 if faults else 0), outcome.text
    assert ("without -z now" in outcome.text) == ("$ORIGIN" in outcome.text) == bool(faults)


def test_without_a_binary_linkage_is_skipped_and_not_passed(house):
    (house.root / ".build/debug/outrider").unlink()
    outcome = house.check("linkage")
    assert outcome.status == 0
    assert "0 passed, 0 failed, 1 skipped" in outcome.text


def test_every_check_has_a_planted_fault():
    listed = subprocess.run([sys.executable, CHECKOUT / "scripts/check", "--list"], capture_output=True, text=True)
    checks = {line.split()[0] for line in listed.stdout.splitlines()}
    assert checks == {fault[0] for fault in FAULTS} | {"tracked", "linkage"}


def test_an_unknown_check_is_refused(house):
    outcome = house.check("nosuch")
    assert outcome.status == 2 and "nosuch" in outcome.text
