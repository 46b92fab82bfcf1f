-- SPDX-License-Identifier: Apache-2.0
-- SPDX-FileCopyrightText: The Outrider authors
--
-- :checkhealth outrider
local M = {}

local client = require("outrider.client")
local process = require("outrider.process")

local function reporter()
  local health = vim.health or {}
  local old = health.start == nil and (health.report_start and health or require("health")) or nil
  local function pick(name) return old and old["report_" .. name] or health[name] end
  return { start = pick("start"), ok = pick("ok"), info = pick("info"), warn = pick("warn"), error = pick("error") }
end

local INSTALL = {
  "Build it with `make build`, and put .build/release/outrider into a directory of PATH.",
  "Or name it: require('outrider').setup({ command = '/path/to/outrider' })",
}

-- runs the program with a deadline: status, output, standard error
local function run(...)
  local ended
  process.run(client.config, { ... }, function(...) ended = { ... } end)
  vim.wait((client.config.start_timeout + 2) * 1000, function() return ended ~= nil end, 10)
  return unpack(ended or { nil, "", "it did not end" })
end

local function check_program(report)
  local program = process.words(client.config)[1]
  if vim.fn.executable(program) ~= 1 then
    report.error(("`%s` is not a program that can be run"):format(program), INSTALL)
    return nil
  end
  local status, out, said = run("--version")
  if status ~= 0 then
    report.error(("`%s --version` failed: %s"):format(program, vim.trim(said)), INSTALL)
    return nil
  end
  local version = vim.trim(out)
  report.ok(("`%s` is version %s"):format(vim.fn.exepath(program), version))
  return version
end

local function check_socket(report)
  local arguments = { "get-socket", "--timeout", "5" }
  if client.config.socket then vim.list_extend(arguments, { "--socket", client.config.socket }) end
  local status, out, said = run(unpack(arguments))
  local ok, info = pcall(vim.json.decode, out)
  if status ~= 0 or not ok then
    report.warn("no shared service: " .. vim.trim(said), {
      "Try `outrider get-socket` in a terminal.",
      "The directory of the socket must be yours: set $OUTRIDER_SOCKET, or `socket` in setup().",
      "Until then Neovim uses a service of its own, without the connections of other programs.",
    })
    return nil
  end
  report.ok(("the shared service listens on %s (pid %d)"):format(info.socket, info.pid))
  return info
end

local function check_answer(report)
  local problem, info
  local call = client.call("server.info", {}, function(...) problem, info = ... end)
  vim.wait(5000, function() return problem ~= nil or info ~= nil end, 10)
  if info then
    local said = "the service answers: version %s, protocol %d, through %s"
    report.ok(said:format(info.version, info.protocol, client.place()))
    return info
  end
  call.close()
  report.error("the service does not answer: " .. tostring(problem or "nothing came for 5 s"), {
    "End it with `outrider call server.stop`, and try again; the next request starts another.",
  })
end

function M.check()
  local report = reporter()
  report.start("outrider")
  if vim.fn.has("nvim-0.7") ~= 1 then report.error("Neovim is older than 0.7", { "Install Neovim 0.7 or newer." }) end
  local version = check_program(report)
  if not version then return end
  if client.config.transport ~= "stdio" then check_socket(report) end
  local info = check_answer(report)
  if info and not version:find(info.version, 1, true) then
    report.warn(("the service is version %s, the program %s"):format(info.version, version), {
      "`outrider call server.stop` ends the older service; the next request starts the newer one.",
    })
  end
end

return M
