# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The client for Neovim, in a real Neovim: requests, failures, cancelling, the end of the service, two editors."""

import json
import pathlib

import contract
import pytest
from editor_clients import CLIENTS, Editors, await_end
from event_server import EventServer, status
from hostile_server import Hostile

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


def test_every_kind_of_body_arrives_as_it_was_given(editors, bin):
    (editors.place / "wolf.txt").write_text("howl")
    seen = editors.neovim("""
      local function send(opts) opts.as = "json" return assert(outrider.sync("post", url .. "/post", opts)).body end
      finish({
        json = send({ json = { list = {}, object = vim.empty_dict(), null = vim.NIL, number = 0.1 + 0.2 } }).data,
        null = send({ json = vim.NIL }).data,
        form = send({ form = { a = "b c", d = { 1, 2 } } }).form,
        files = send({ form = { a = "1" }, files = { f = "wolf.txt", g = { data = "x\\255", filename = "g.bin" } } }),
        text = send({ body = "naïve", headers = { ["Content-Type"] = "text/plain" } }).data,
        bytes = send({ body = "\\255\\0" }).data,
        query = send({ params = { x = { 1, 2 }, y = "ä" }, headers = { ["X-Wolf"] = "grey", ["X-Age"] = 5 } }),
        auth = outrider.sync("get", url .. "/basic-auth/u/p", { auth = { "u", "p" } }).status,
        bearer = outrider.sync("get", url .. "/bearer", { bearer = "t" }).status,
      })
    """, url=bin)
    assert json.loads(seen["json"]) == {"list": [], "object": {}, "null": None, "number": 0.1 + 0.2}
    assert seen["null"] == "null"
    assert seen["form"] == {"a": "b c", "d": ["1", "2"]}
    assert seen["files"]["form"] == {"a": "1"} and seen["files"]["files"]["f"] == "howl"
    assert seen["files"]["files"]["g"].startswith("data:")
    assert seen["text"] == "naïve" and seen["bytes"].startswith("data:application/octet-stream;base64,/wA=")
    assert seen["query"]["args"] == {"x": ["1", "2"], "y": "ä"} and seen["query"]["headers"]["X-Wolf"] == "grey"
    assert seen["query"]["headers"]["X-Age"] == "5"
    assert (seen["auth"], seen["bearer"]) == (200, 200)


def test_a_response_has_its_bytes_its_text_and_its_fields_by_any_case(editors, origin):
    seen = editors.neovim("""
      local page = outrider.sync("get", url .. "/headers")
      local null = outrider.sync("post", url .. "/echo", { json = { x = vim.NIL } })
      local big = outrider.sync("get", url .. "/bytes/9000000")
      local right = #big.body == 9000000
      for index = 1, 9000000, 4099 do right = right and big.body:byte(index) == (index - 1) % 256 end
      local wrong, err = nil, nil
      wrong, err = outrider.sync("get", url .. "/headers", { as = "json" })
      finish({
        status = page.status, twice = page.headers["X-Twice"], lower = page.headers["x-twice"], text = page:text(),
        null = vim.json.decode(null:json().body).x == vim.NIL, right = right,
        code = err.code, kept = err.response.body, missing = outrider.sync("get", url .. "/status/404").status,
        refused = select(2, outrider.sync("get", url .. "/status/404", { validate = true })).code,
      })
    """, url=origin)
    assert seen == {
        "status": 200, "twice": "one, two", "lower": "one, two", "text": "the same field twice\n", "null": True,
        "right": True, "code": 1704, "kept": "the same field twice\n", "missing": 404, "refused": 1600,
    }


def test_a_long_body_is_text_by_its_charset_and_an_empty_one_has_no_json(editors, origin):
    with EventServer() as server:
        url = server.at("/long", [status(200, b"\xe9" * 9_000_000, "text/plain; charset=iso-8859-1")])
        seen = editors.neovim("""
          local long = outrider.sync("get", url, { as = "text" }).body
          local empty = outrider.sync("get", origin .. "/status/204", { as = "json" })
          local _, wrong = outrider.sync("get", url, { as = "json" })
          finish({ long == ("é"):rep(9000000), empty.body == nil, empty.status, wrong.code })
        """, url=url, origin=origin)
    assert seen == [True, True, 204, 1704]


def test_a_body_goes_to_a_file_or_into_a_buffer(editors, origin):
    seen = editors.neovim("""
      local buffer = vim.api.nvim_create_buf(false, true)
      local filled = outrider.sync("get", url .. "/headers", { outbuf = buffer })
      local saved = outrider.sync("get", url .. "/bytes/1000", { outpath = "saved.bin" })
      local _, page = outrider.sync("get", url .. "/status/500", { outpath = "saved.bin" })
      local _, gone = outrider.sync("get", url .. "/headers", { outbuf = 4711 })
      local lines = vim.api.nvim_buf_get_lines(buffer, 0, -1, false)
      finish({ lines, filled.body, saved.body, saved.path, page.code, gone.kind })
    """, url=origin)
    path = str(editors.place / "saved.bin")
    assert seen == [["the same field twice"], True, True, path, 1600, "invalidOptions"]
    assert pathlib.Path(path).stat().st_size == 1000


def test_a_long_body_is_sent_whole(editors, origin):
    """One message to the service has at most 16 MiB; a longer body takes another way, and leaves no file behind."""
    seen = editors.neovim("""
      local long = "ä" .. ("x"):rep(17 * 1024 * 1024)
      local got = outrider.sync("post", url .. "/echo", { body = long, as = "json" })
      local json = outrider.sync("post", url .. "/echo", { json = { long }, as = "json" })
      finish({ got.body.body == long, vim.json.decode(json.body.body)[1] == long })
    """, url=origin)
    assert seen == [True, True]
    assert not list(editors.place.glob("nvim-outrider-*"))


def test_each_callback_runs_once_on_the_main_loop_whatever_happens(editors):
    with Hostile() as server:
        seen = editors.neovim("""
          local calls, fast, left = {}, false, 0
          local function expect(name)
            left, calls[name] = left + 1, {}
            return function(err, response)
              fast = fast or vim.in_fast_event()
              table.insert(calls[name], err and (err.reason or err.kind) or tostring(response.status))
              left = left - 1
            end
          end
          outrider.get(url .. "/fine", {}, expect("success"))
          outrider.get("http://127.0.0.1:1/", {}, expect("refused"))
          outrider.get(url .. "/reset", {}, expect("reset"))
          outrider.get(url .. "/stall", { timeout = 0.2 }, expect("timeout"))
          outrider.get("no url", {}, expect("url"))
          outrider.get(url, { outpth = "x" }, expect("unknown option"))
          outrider.get(url, { timeout = "soon" }, expect("wrong option"))
          outrider.get(url, { json = { f = print } }, expect("function"))
          outrider.get(url, { json = 1, body = "x" }, expect("two bodies"))
          outrider.get(7, {}, expect("no text"))
          outrider.get(url, 7, expect("no options"))
          local closed = outrider.get(url .. "/stall", {}, expect("closed"))
          closed.close() closed.close() closed:close()
          wait(function() return left == 0 end)
          -- nothing comes late
          vim.wait(150, function() return false end)
          calls.fast = fast
          finish(calls)
        """, url=server.url(""))
    assert seen.pop("fast") is False
    cancelled, options = ["explicitlyCancelled"], ["invalidOptions"]
    assert seen == {
        "success": ["200"], "refused": ["refused"], "reset": ["connectionLost"], "timeout": ["timedOut"],
        "url": ["invalidURL"], "unknown option": ["callFailed"], "wrong option": ["callFailed"], "function": options,
        "two bodies": options, "no text": options, "no options": options, "closed": cancelled,
    }


def test_closing_a_request_closes_its_connection_to_the_server(editors):
    with Hostile() as server:
        editor = editors.start_neovim("""
          local problem
          local handle = outrider.get(url .. "/stall", {}, function(err) problem = err end)
          wait_for_go()
          handle.close()
          wait(function() return problem ~= nil end)
          say("closed")
          finish({ problem.code, tostring(problem), handle.is_closed() })
        """, url=server.url(""))
        server.wait_for("/stall")
        editors.go()
        editor.said("closed")
        server.wait_gone("/stall")
        assert editor.result() == [1900, "the request was cancelled: its handle was closed", True]


def test_a_request_may_be_made_where_neovim_permits_few_functions_and_waited_for_in_a_callback(editors, origin):
    """In a libuv callback, and while another request is waited for."""
    seen = editors.neovim("""
      local fast, status, inner
      local timer = vim.loop.new_timer()
      timer:start(1, 0, function()
        fast = vim.in_fast_event()
        outrider.get(url .. "/json", {}, function(_, response) status = response.status end)
      end)
      wait(function() return status end)
      outrider.get(url .. "/json", {}, function() inner = outrider.sync("get", url .. "/delay/0.2").body end)
      local outer = outrider.sync("get", url .. "/delay/0.1").body
      wait(function() return inner end)
      finish({ fast, status, outer, inner })
    """, url=origin)
    assert seen == [True, 200, "waited 0.1 s\n", "waited 0.2 s\n"]


def test_an_error_in_a_callback_leaves_the_connection_alone(editors, origin):
    editor = editors.start_neovim("""
      local seen, failed
      outrider.get(url .. "/json", {}, function() failed = true error("mine") end)
      outrider.get(url .. "/json", { as = "json" }, function(_, response) seen = response.body.id end)
      wait(function() return seen ~= nil and failed end)
      finish({ seen, outrider.sync("get", url .. "/json").status })
    """, url=origin)
    assert editor.result() == [1, 200]
    assert "mine" in editor.output


def test_the_end_of_the_service_fails_what_is_pending_once_and_the_next_request_starts_another(editors, origin):
    with Hostile() as server:
        editor = editors.start_neovim("""
          local calls, ends = {}, 0
          for index = 1, 3 do
            outrider.get(stalled, {}, function(err) ends = ends + 1 calls[index] = (calls[index] or "") .. err.kind end)
          end
          outrider.stream(stalled, {}, function() end, function(err) ends = ends + 1 calls[4] = err.kind end)
          wait(function() return ends == 4 end)
          say("lost")
          local response, err = outrider.sync("get", url)
          finish({ calls, response and response.status or tostring(err) })
        """, url=origin + "/json", stalled=server.url("/stall"))
        server.wait_for("/stall", 4)
        first = editors.service_pid()
        editors.kill_service()
        editor.said("lost")
        assert editor.result() == [["serviceLost"] * 4, 200]
    assert editors.service_pid() not in (None, first)


def test_a_service_that_is_stopping_is_lost_and_the_next_request_starts_another(editors, origin):
    """While a request runs, the service refuses others for some seconds before it ends."""
    with Hostile() as server:
        editor = editors.start_neovim("""
          local ends, refused = {}, nil
          local stalled = outrider.get(stalled, {}, function(err) ends[#ends + 1] = err.code end)
          local function ask()
            outrider.call("server.info", {}, function(err)
              if not err then return vim.defer_fn(ask, 10) end
              refused = { err.kind, err.code, err.retryable }
            end)
          end
          ask()
          wait(function() return refused end)
          stalled.close()
          local response, err = outrider.sync("get", url)
          finish({ refused, response and response.status or tostring(err), ends })
        """, url=origin + "/json", stalled=server.url("/stall"))
        server.wait_for("/stall")
        editors.stop_service()
        assert editor.result() == [["serviceLost", -32017, True], 200, [1900]]


def test_a_service_that_ended_unnoticed_does_not_fail_the_next_request(editors, origin):
    assert editors.neovim("""
      assert(outrider.sync("get", url))
      local info
      outrider.call("server.info", {}, function(_, result) info = result end)
      wait(function() return info end)
      -- nothing of Neovim runs between the end of the service and the next request
      os.execute("kill -9 " .. info.pid .. "; sleep 0.15")
      local response, err = outrider.sync("get", url)
      finish(response and response.status or tostring(err))
    """, url=origin + "/json") == 200


def test_without_the_program_the_callback_says_how_to_get_it(editors):
    seen = editors.neovim("""
      outrider.setup({ command = "no-such-outrider" })
      local _, err = outrider.sync("get", "http://127.0.0.1:1/")
      finish({ err.kind, tostring(err) })
    """)
    assert seen[0] == "serviceUnavailable"
    assert "no-such-outrider" in seen[1] and "PATH" in seen[1] and ":checkhealth outrider" in seen[1]


def test_where_no_socket_can_be_had_neovim_has_a_service_of_its_own(tmp_path, origin):
    with Editors(tmp_path, OUTRIDER_SOCKET="/proc/no/socket") as editors:
        seen = editors.neovim("""
          local response, err = outrider.sync("get", url .. "/json")
          finish({ response and response.status or tostring(err), require("outrider.client").place() })
        """, url=origin)
    assert seen == [200, "stdio"]


def test_a_service_of_its_own_is_started_again_and_ends_with_neovim(editors, origin):
    with Hostile() as server:
        editor = editors.start_neovim("""
          outrider.setup({ transport = "stdio" })
          local function pid()
            local info
            outrider.call("server.info", {}, function(_, result) info = result end)
            wait(function() return info end)
            return info.pid
          end
          local first, kinds = pid(), {}
          outrider.get(stalled, {}, function(err) kinds[#kinds + 1] = err.kind end)
          wait_for_go()
          vim.loop.kill(first, "sigkill")
          wait(function() return #kinds > 0 end)
          finish({ kinds, outrider.sync("get", url).status, first, pid() })
        """, url=origin + "/json", stalled=server.url("/stall"))
        server.wait_for("/stall")
        editors.go()
        kinds, status, first, second = editor.result()
    assert (kinds, status) == (["serviceLost"], 200) and first != second
    await_end(second)
    assert editors.service_pid() is None


def test_leaving_neovim_fails_what_is_pending_once(editors):
    with Hostile() as server:
        editor = editors.start_neovim("""
          local file = io.open("left", "a")
          -- one callback asks again as often as it fails
          local function again() outrider.get(url .. "/stall", {}, again) end
          again()
          for _ = 1, 3 do
            outrider.get(url .. "/stall", {}, function(err)
              file:write(err.kind .. "\\n")
              file:flush()
              outrider.get(url .. "/stall", {}, function() end)
            end)
          end
          wait_for_go()
          finish(#vim.api.nvim_get_autocmds({ group = "outrider" }))
        """, url=server.url(""))
        server.wait_for("/stall", 4)
        editors.go()
        assert editor.result() == 1
        server.wait_gone("/stall")
    assert (editors.place / "left").read_text() == "explicitlyCancelled\n" * 3


def test_two_editors_share_one_service(editors, origin):
    program = "outrider.sync('get', url) finish(outrider.sync('get', url).status)"
    both = [editors.start_neovim(program, url=origin + "/json") for _ in range(2)]
    assert [editor.result() for editor in both] == [200, 200]
    assert editors.service_pid()


def test_a_thousand_requests_at_once_leave_no_process_behind(editors, origin):
    seen = editors.neovim("""
      local right, wrong = 0, 0
      for _ = 1, 1000 do
        outrider.get(url, { as = "json" }, function(err, response)
          if not err and response.body.id == 1 then right = right + 1 else wrong = wrong + 1 end
        end)
      end
      wait(function() return right + wrong == 1000 end)
      local children = vim.fn.systemlist("ps -o comm= --ppid " .. vim.fn.getpid())
      finish({ right, wrong, vim.tbl_filter(function(name) return name:find("outrider") ~= nil end, children) })
    """, url=origin + "/json")
    assert seen == [1000, 0, []]


def test_functions_of_the_user_judge_responses_and_change_requests(editors, origin):
    seen = editors.neovim("""
      local adapted = { callback = function(asked) return { headers = { ["X-Attempt"] = tostring(asked.attempt) } } end,
        asks = { "adapt" } }
      local echo = outrider.sync("get", url .. "/echo", { as = "json", interceptors = { adapted } })
      local fields = {}
      for _, field in ipairs(echo.body.headers) do fields[field[1]] = field[2] end
      local _, refused = outrider.sync("get", url .. "/json", {
        validate = { callback = function(_, respond)
          vim.schedule(function() respond({ valid = false, reason = "not today" }) end)
        end } })
      local _, broken = outrider.sync("get", url .. "/json", { validate = { callback = function() error("oh") end } })
      finish({ fields["X-Attempt"], refused.code, refused.message:find("not today") ~= nil, broken.code })
    """, url=origin)
    assert seen == ["1", 1605, True, 1605]


def test_checkhealth_shows_the_program_the_socket_and_the_reply(editors):
    program = """
      {}
      vim.cmd("checkhealth outrider")
      finish(table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\\n"))
    """
    fine = editors.neovim(program.format(""))
    assert "is version" in fine and f"listens on {editors.socket}" in fine and "the service answers" in fine
    assert "ERROR" not in fine and "WARN" not in fine
    missing = editors.neovim(program.format("outrider.setup({ command = 'no-such-outrider' })"))
    assert "ERROR" in missing and "make build" in missing


def test_the_help_is_found_by_the_name_of_every_function(editors):
    doc = editors.place / "outrider/doc"
    doc.mkdir(parents=True)
    (doc / "outrider.txt").write_text((CLIENTS / "neovim/doc/outrider.txt").read_text())
    wrong = editors.neovim("""
      vim.opt.runtimepath:prepend(vim.loop.cwd() .. "/outrider")
      vim.cmd("helptags outrider/doc")
      local wrong = {}
      local tags = { "outrider", "outrider-install", "outrider-errors" }
      for name, value in pairs(outrider) do
        if type(value) == "function" then tags[#tags + 1] = "outrider." .. name .. "()" end
      end
      for _, tag in ipairs(tags) do
        if not pcall(vim.cmd, "help " .. tag) then wrong[#wrong + 1] = tag end
      end
      finish(wrong)
    """)
    assert wrong == []
