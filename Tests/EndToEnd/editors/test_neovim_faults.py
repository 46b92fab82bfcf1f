# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The client for Neovim, in a real Neovim: wrong arguments and settings, long bodies, a service that cannot start."""

import base64

import contract
import pytest
from editor_clients import Editors

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


def test_a_service_that_cannot_start_says_why(tmp_path):
    """Its own service, which Neovim takes where no socket can be had, reads the same configuration."""
    (tmp_path / "config.yaml").write_text("no-such-setting: 1\n")
    with Editors(tmp_path, OUTRIDER_CONFIG=str(tmp_path / "config.yaml")) as editors:
        seen = editors.neovim("""
          local function why() return tostring(select(2, outrider.sync("get", "http://127.0.0.1:1/"))) end
          local first = why()
          outrider.setup({ transport = "stdio" })
          finish({ first, why() })
        """)
    assert all("no-such-setting" in why and "config.yaml, line 1" in why for why in seen), seen


def test_a_connection_that_the_service_ends_tells_the_error_of_the_service(editors):
    """An error that belongs to no call, such as that of a client that reads nothing."""
    program = editors.place / "service"
    program.write_text("""#!/bin/sh
read line
echo '{"jsonrpc":"2.0","id":null,"error":{"code":-32016,"message":"the client reads nothing"}}'
""")
    program.chmod(0o700)
    said = editors.neovim("""
      outrider.setup({ transport = "stdio", command = service })
      finish(tostring(select(2, outrider.sync("get", "http://127.0.0.1:1/"))))
    """, service=str(program))
    assert "the client reads nothing" in said


def test_an_answer_of_a_function_that_is_no_table_fails_the_callback_at_once(editors, origin):
    """Without a reply the service would wait for as long as the callback may take."""
    seen = editors.neovim("""
      local function why(answer)
        local validate = { callback = function() return answer end, timeout = 600 }
        return tostring(select(2, outrider.sync("get", url, { validate = validate })))
      end
      finish({ why(true), why(false), why("yes") })
    """, url=origin + "/json")
    assert all("must be an object" in why for why in seen), seen


def test_wrong_arguments_of_a_call_are_its_error(editors):
    seen = editors.neovim("""
      local seen = {}
      local function add(name) return function(err) seen[name] = err and tostring(err) or "none" end end
      outrider.call("server.info", "x", add("params"))
      outrider.call('server.info"', {}, add("method"))
      outrider.call("server.info", add("alone"))
      wait(function() return seen.params and seen.method and seen.alone end)
      finish(seen)
    """)
    assert seen["params"] == "params must be an object" and seen["alone"] == "none"
    assert "name of a method" in seen["method"]


def test_a_setting_that_cannot_be_is_refused_and_changes_nothing(editors, origin):
    seen = editors.neovim("""
      local seen = {}
      for _, config in ipairs({ { start_timeout = "5" }, { start_timeout = 0 }, { command = {} }, { socket = 5 },
        { transport = "tcp" }, { transport = "stdio", timeout = 5 } }) do
        seen[#seen + 1] = select(2, pcall(outrider.setup, config))
      end
      finish({ seen, outrider.sync("get", url).status, require("outrider.client").place() })
    """, url=origin + "/json")
    said, status, place = seen
    for name, why in zip(("start_timeout", "start_timeout", "command", "socket", "transport", "timeout"), said):
        assert f"`{name}`" in why
    assert status == 200 and place == editors.socket


def test_the_type_of_a_body_does_not_depend_on_its_length(editors, origin):
    """A body of zeros takes six times its length as JSON, and the parts of a form stand in one message."""
    seen = editors.neovim("""
      local function type_of(body, headers)
        local got = assert(outrider.sync("post", url, { body = body, headers = headers, as = "json" })).body
        for _, field in ipairs(got.headers) do
          if field[1] == "Content-Type" then return field[2] end
        end
      end
      local long, files = ("x"):rep(5000000), {}
      for _, name in ipairs({ "a", "b", "c", "d", "e" }) do
        files[name] = { data = ("x"):rep(4000000), filename = "x" }
      end
      local form = assert(outrider.sync("post", url, { files = files })).status
      finish({ type_of("x"), type_of(long), type_of(("\\0"):rep(3000000)), type_of("\\255"),
        type_of(("\\255"):rep(5000000)), type_of(long, { ["Content-Type"] = "text/csv" }), form })
    """, url=origin + "/echo")
    text, binary = "text/plain; charset=utf-8", "application/octet-stream"
    assert seen == [text, text, text, binary, binary, "text/csv", 200]
    assert not list(editors.place.glob("nvim-outrider-*"))


def test_a_buffer_takes_text_whatever_shape_the_body_shall_have(editors, origin):
    seen = editors.neovim("""
      local buffer = vim.api.nvim_create_buf(false, true)
      assert(outrider.sync("get", url, { outbuf = buffer, as = "json" }))
      finish(vim.api.nvim_buf_get_lines(buffer, 0, -1, false))
    """, url=origin + "/json")
    assert seen == ['{"id":1,"x":0.1}']


def test_an_error_names_the_option_and_the_form_that_it_takes(editors):
    seen = editors.neovim("""
      local function why(opts) return tostring(select(2, outrider.sync("post", "http://127.0.0.1:1/", opts))) end
      finish({ why({ files = "wolf.png" }), why({ files = { a = 5 } }), why({ outpath = 5 }) })
    """)
    assert "`files`" in seen[0] and "files.a" in seen[1] and "`outpath`" in seen[2]
    assert not any(".lua:" in why for why in seen), seen


def test_json_with_a_byte_order_mark_is_read_in_every_way(editors, bin):
    path = "/base64/" + base64.urlsafe_b64encode('\ufeff{"s":"é"}'.encode()).decode()
    seen = editors.neovim("""
      local function get(opts) return assert(outrider.sync("get", url, opts)) end
      finish({ get({ as = "json" }).body.s, get({ as = "json", maxInline = 0 }).body.s, get({}):json().s })
    """, url=bin + path)
    assert seen == ["é", "é", "é"]


def test_a_form_is_sent_whole_or_not_at_all(editors, bin):
    """A value that no field can hold would be missing otherwise, and a long number would be a different one."""
    seen = editors.neovim("""
      local function send(opts) opts.as = "json" return outrider.sync("post", url .. "/post", opts) end
      local function why(form, files) return tostring(select(2, send({ form = form, files = files }))) end
      local nested, files, long = { a = { b = 1 }, c = 2 }, { f = { data = "x", filename = "f" } }, 1732950000123456
      finish({
        refused = { why(nested), why(nested, files), why({ { "a", { { 1 } } } }, files),
          why({ a = print }, files), why({ a = { 1, nil, 3 } }), why({ { "a", 1 }, "b" }),
          why({ { "c", 1 }, d = 2 }) },
        numbers = { send({ form = { n = long } }).body.form, send({ form = { n = long }, files = files }).body.form,
          { n = send({ headers = { ["X-N"] = long } }).body.headers["X-N"] } },
        mixed = send({ form = { a = 1, [2] = { 3 } } }).body.form,
        order = send({ form = { { "b", false }, { "a", { 1, 2 } } }, files = files }).body.form,
      })
    """, url=bin)
    assert all("`a` in `form` must be" in why for why in seen["refused"][:5]), seen
    assert "pair { name, value } at 2" in seen["refused"][5] and "names or gaps" in seen["refused"][6]
    assert seen["mixed"] == {"a": "1", "2": "3"}
    assert seen["numbers"] == [{"n": "1732950000123456"}] * 3
    assert seen["order"] == {"b": "0", "a": ["1", "2"]}


def test_calls_that_wait_while_the_service_stops_are_for_the_next_service(editors):
    """At most 200 calls of a connection run; the others have not been written."""
    seen = editors.neovim("""
      local feed, written, stopped, ends = nil, 0, 0, {}
      local connection = require("outrider.connection").new({
        read = function(take) feed = take end,
        write = function(_, done) written = written + 1 done() end,
        close = function() end,
      }, {}, function() end, function() stopped = stopped + 1 end)
      for number = 1, 203 do
        connection:call("server.info", {}, function(problem) ends[#ends + 1] = { number, problem.unsent == true } end)
      end
      local refusal = '{"jsonrpc":"2.0","id":%d,"error":{"code":-32017,"message":"the service is stopping"}}\\n'
      for id = 1, 2 do feed(refusal:format(id)) end
      finish({ written, stopped, ends })
    """)
    assert seen == [200, 1, [[201, True], [202, True], [203, True], [1, False], [2, False]]]
