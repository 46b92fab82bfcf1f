# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The client for Neovim, in a real Neovim: streams, event streams, downloads, logins."""

import hashlib

import contract
import pytest
from editor_clients import CLIENTS
from event_server import CHUNKED, GONE, OPEN, STREAM, EventServer, chunk, status
from hostile_server import Hostile
from range_server import Ranging

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
# events of a model: without choices, with text, without a delta, and with the usage alone
TALK = b"".join(b"data: %s\n\n" % data for data in (
    b'{"choices":[]}', b'{"choices":[{"delta":{"content":"Hello"}}]}', b'{"choices":[{"delta":{}}]}',
    b'{"choices":[{"delta":null}]}', b'{"choices":null,"usage":{"n":1}}', b"[DONE]"))


def test_a_stream_brings_every_byte_and_then_its_response(editors, origin):
    seen = editors.neovim("""
      local size, ended, right = 0, nil, true
      outrider.stream(url .. "/bytes/3000000", {}, function(bytes)
        right = right and bytes:byte(1) == size % 256
        size = size + #bytes
      end, function(err, response) ended = { not err, response.status, size } end)
      local lines, last = {}, nil
      outrider.stream(url .. "/chunked", { as = "lines" }, function(line) table.insert(lines, line) end,
        function(err, response) last = response.status end)
      wait(function() return ended and last end)
      finish({ ended, right, lines, last })
    """, url=origin)
    assert seen == [[True, 200, 3000000], True, ["one two three"], 200]


def test_a_stream_that_is_not_taken_holds_the_server_up(editors):
    """What a paused stream has not taken is at most its window; then the server is not read from."""
    with Hostile() as server:
        seen = editors.neovim("""
          local size, calls, handle = 0, 0, nil
          handle = outrider.stream(url .. "/bytes/6000000", {}, function(bytes)
            size, calls = size + #bytes, calls + 1
            if calls == 1 then handle.pause() end
          end, function(err) ended = err or true end)
          wait(function() return calls == 1 end)
          vim.wait(200, function() return calls > 1 end)
          local held, stats = calls, nil
          outrider.call("server.stats", {}, function(_, result) stats = result end)
          wait(function() return stats end)
          handle.resume()
          wait(function() return ended end)
          finish({ held, ended == true, size, stats.bytes.received })
        """, url=server.url(""))
    assert seen[:3] == [1, True, 6000000]
    assert seen[3] < 2_000_000


def test_closing_a_stream_ends_it_and_its_connection(editors):
    with Hostile() as server:
        editor = editors.start_neovim("""
          local after, ends, handle = 0, {}, nil
          handle = outrider.stream(url .. "/endless", { as = "text" }, function()
            if #ends > 0 or handle.is_closed() then after = after + 1 end
            handle.close()
          end, function(err) ends[#ends + 1] = err.code end)
          wait(function() return #ends > 0 end)
          vim.wait(100, function() return false end)
          finish({ after, ends })
        """, url=server.url(""))
        server.wait_gone("/endless")
        assert editor.result() == [0, [1900]]


def test_a_stream_that_is_closed_before_it_is_open_is_cancelled_in_the_service(editors):
    with Hostile() as server:
        seen = editors.neovim("""
          local ends, left = {}, nil
          outrider.stream(url .. "/endless", {}, function() end, function(err) ends[#ends + 1] = err.code end).close()
          wait(function() return #ends == 1 end)
          wait(function()
            outrider.call("server.stats", {}, function(_, stats) left = stats.requests.running or 0 end)
            vim.wait(50, function() return false end)
            return left == 0
          end)
          finish({ ends, left })
        """, url=server.url(""))
    assert seen == [[1900], 0]


def test_an_item_that_is_wrong_comes_as_an_error_in_its_place(editors):
    with EventServer() as server:
        body = b'{"a":1}\n{oh}\nnull\n{"a":2}\n'
        url = server.at("/n", [status(200, body, "application/x-ndjson")])
        seen = editors.neovim("""
          local items, ended = {}, nil
          outrider.stream(url, { as = "ndjson" }, function(item, err)
            items[#items + 1] = err and err.code or item
          end, function(err) ended = err or true end)
          wait(function() return ended end)
          finish({ items, ended == true })
        """, url=url)
    assert seen == [[{"a": 1}, 1704, None, {"a": 2}], True]


def test_an_event_stream_goes_on_after_a_lost_connection_until_the_server_has_no_more(editors):
    with EventServer() as server:
        one, two = b'id: 1\nretry: 20\ndata: {"n":1}\n\n', b'id: 2\nevent: tick\ndata: {"n":2}\n\n'
        url = server.at("/e", [STREAM, one], [STREAM, two], [GONE])
        seen = editors.neovim("""
          local events, ended = {}, nil
          outrider.sse(url, {}, function(event)
            events[#events + 1] = { event.event, event:json().n, event.id }
          end, function(err, response) ended = { not err, response.status } end)
          wait(function() return ended end)
          finish({ events, ended })
        """, url=url)
        assert seen == [[["message", 1, "1"], ["tick", 2, "2"]], [True, 204]]
        assert [one.headers.get("last-event-id") for one in server.seen["/e"]] == [None, "1", "2"]


def test_an_event_stream_that_is_refused_says_why_and_brings_the_page(editors):
    with EventServer() as server:
        url = server.at("/e", [status(403, b"members only")])
        seen = editors.neovim("""
          local ended
          local function done(err, response) ended = { err.code, response.body } end
          outrider.sse(url, { json = { a = 1 } }, error, done)
          wait(function() return ended end)
          finish(ended)
        """, url=url)
        assert seen == [1600, "members only"]
        assert server.seen["/e"][0].method == "POST" and server.seen["/e"][0].body == b'{"a":1}'


def test_an_error_in_the_function_for_items_does_not_hold_the_stream_up(editors):
    with EventServer() as server:
        events = b"".join(b"data: %d\n\n" % number for number in range(20))
        url = server.at("/e", [CHUNKED, chunk(events), OPEN])
        editor = editors.start_neovim("""
          local seen, handle = 0, nil
          handle = outrider.sse(url, { credit = 16 }, function()
            seen = seen + 1
            if seen % 2 == 0 then error("mine") end
          end, function() end)
          wait(function() return seen == 20 end)
          handle.close()
          finish(seen)
        """, url=url)
        assert editor.result() == 20
        server.wait_gone("/e")


def test_a_download_shows_progress_and_goes_on_after_it_was_closed(editors):
    with Ranging(size=3_000_000) as server:
        server.stop = 1_000_000
        first = editors.start_neovim("""
          local ended, handle, told = nil, nil, nil
          handle = outrider.download(url, { path = "big", progress = function(progress) told = progress end },
            function(err) ended = err.code end)
          wait(function() return told end)
          vim.defer_fn(handle.close, 150)
          wait(function() return ended end)
          finish({ ended, told.direction, told.completed > 0, told.total })
        """, url=server.url("/fine"))
        assert first.result() == [1900, "download", True, 3_000_000]
        server.wait_for("gone")
        server.stop = None
        server.go.set()
        seen = editors.neovim("""
          local ended
          outrider.download(url, "big", function(err, response)
            ended = { err and tostring(err) or "", response.path }
          end)
          wait(function() return ended end)
          finish(ended)
        """, url=server.url("/fine"))
        assert seen == ["", str(editors.place / "big")]
        assert hashlib.sha256((editors.place / "big").read_bytes()).digest() == hashlib.sha256(server.data).digest()
        whole, rest = server.ranges()
        assert whole is None and rest.startswith("bytes=") and 0 < int(rest[6:-1]) <= 1_000_000


def test_every_step_of_requests_is_told_while_it_is_watched(editors, origin):
    """More events than the window holds; and a stream, whose request the events name, is left alone by them."""
    seen = editors.neovim("""
      local topics, order, size, ends, watch = {}, true, 0, {}, nil
      watch = outrider.watch({ "request.finished", "stream.*" }, { window = 4 }, function(event)
        order = order and event.seq == #topics
        topics[#topics + 1] = event.topic
      end, function(err) ends[#ends + 1] = err.code end)
      for _ = 1, 20 do assert(outrider.sync("get", url .. "/json")) end
      local done
      outrider.stream(url .. "/bytes/100000", {}, function(bytes) size = size + #bytes end, function() done = true end)
      local function count() return #vim.tbl_filter(function(topic) return topic == "request.finished" end, topics) end
      wait(function() return done and count() == 21 end)
      watch.close()
      outrider.sync("get", url .. "/json")
      local wrong
      outrider.watch("no.such", {}, error, function(err) wrong = err.code end)
      wait(function() return wrong end)
      finish({ order, count(), size, ends, wrong })
    """, url=origin)
    assert seen == [True, 21, 100_000, [1900], -32602]


def test_the_chat_example_writes_the_response_of_a_model_into_a_buffer(editors, origin):
    seen = editors.neovim("""
      dofile(example)
      local handle = Chat(url, { model = "m", messages = {} })
      wait(handle.is_closed)
      finish(vim.api.nvim_buf_get_lines(0, 0, -1, false))
    """, url=origin + "/chat", example=str(CLIENTS / "examples/chat.lua"))
    assert seen == ["You asked, and here are some words:", "naïve “quotes” 🐺."]


def test_a_login_that_cannot_begin_says_why_once(editors):
    seen = editors.neovim("""
      local ends = {}
      local function ended(err) ends[#ends + 1] = err.code or err.kind end
      outrider.login("nobody", {}, ended)
      outrider.login({ grant = "device" }, {}, ended)
      outrider.login({ name = "x", grant = "device", clientId = "c", tokenUrl = "http://127.0.0.1:1/t",
        deviceUrl = "http://127.0.0.1:1/d" }, {}, ended)
      outrider.login("nobody", {}, ended).close()
      wait(function() return #ends == 4 end)
      table.sort(ends, function(a, b) return tostring(a) < tostring(b) end)
      finish(ends)
    """)
    assert sorted(map(str, seen)) == sorted(["-32012", "invalidOptions", "-32018", "1900"])


def test_downloads_and_streams_tell_their_head_and_their_progress(editors, origin):
    seen = editors.neovim("""
      local seen, open = {}, 2
      local function options(name, path)
        return { path = path, on_response = function(head) seen[name .. " head"] = head.status end,
          progress = function(told) seen[name] = told.completed end }
      end
      local function done() open = open - 1 end
      outrider.download(url, options("download", "file"), done)
      outrider.stream(url, options("stream"), function() end, done)
      wait(function() return open == 0 end)
      finish(seen)
    """, url=origin + "/bytes/300000")
    assert seen == {"download": 300_000, "download head": 200, "stream": 300_000, "stream head": 200}


def test_the_chat_example_passes_over_events_without_text(editors):
    with EventServer() as server:
        url = server.at("/chat", [STREAM, TALK])
        editor = editors.start_neovim("""
          dofile(example)
          wait(Chat(url, { model = "m", messages = {} }).is_closed)
          finish(vim.api.nvim_buf_get_lines(0, 0, -1, false))
        """, url=url, example=str(CLIENTS / "examples/chat.lua"))
        assert editor.result() == ["Hello"] and "chat.lua" not in editor.output, editor.output
