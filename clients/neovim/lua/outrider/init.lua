-- SPDX-License-Identifier: Apache-2.0
-- SPDX-FileCopyrightText: The Outrider authors
--
-- HTTP for Neovim through the outrider service: connections, tokens, retries and downloads that all programs share.
-- Callbacks run on the main loop, each exactly once. The reference is :help outrider.
local M = {}

local client = require("outrider.client")
local exchange = require("outrider.exchange")

--- Settings: `command` (a program or a list of words), `transport` ("auto", "socket", "stdio"), `socket` (a path),
--- `start_timeout` (seconds). All have defaults, and hold for the next connection.
function M.setup(config)
  local known = { command = true, transport = { auto = 1, socket = 1, stdio = 1 }, socket = true, start_timeout = true }
  for name, value in pairs(config or {}) do
    if not known[name] then error(("outrider.setup: there is no setting `%s`"):format(name), 2) end
    if type(known[name]) == "table" and not known[name][value] then
      error(("outrider.setup: `%s` cannot be %s"):format(name, tostring(value)), 2)
    end
    client.config[name] = value
  end
end

--- request(method, url, opts, callback): `callback(err, response)`. Returns { close() }.
M.request = exchange.request
--- download(url, opts, callback): to `opts.path` or into `opts.directory`; goes on with what an earlier one left.
M.download = exchange.download

for _, method in ipairs({ "get", "head", "options", "post", "put", "patch", "delete" }) do
  M[method] = function(url, opts, callback) return exchange.request(method, url, opts, callback) end
end

--- sync(method, url, opts): waits, and returns `response, err`. Ctrl-C cancels the request.
function M.sync(method, url, opts)
  local ended, problem, response = false, nil, nil
  local handle = exchange.request(method, url, opts, function(...)
    ended, problem, response = true, ...
  end)
  local ok = pcall(function()
    -- the service ends every request; vim.wait returns early on Ctrl-C
    while not ended do
      local _, why = vim.wait(60000, function() return ended end, 10)
      if why == -2 then break end
    end
  end)
  if not ended then
    handle.close()
    problem = require("outrider.failure").cancelled(ok and "it was interrupted" or "Neovim cannot wait here")
  end
  return response, problem
end

-- what few programs need is loaded when it is called
for name, place in pairs({ sse = "streams", stream = "streams", watch = "watching", login = "oauth" }) do
  M[name] = function(...) return require("outrider." .. place)[name](...) end
end

--- call(method, params, callback): any method of the service; `callback(err, result)`.
M.call = client.call
--- register(fn, name): lets the service ask `fn(params, respond, method)`; returns the name for `callback` in options.
M.register = client.register
M.unregister = client.unregister
--- stop(): closes this Neovim's connection; what is pending fails once. The shared service goes on.
function M.stop() client.close() end

return M
