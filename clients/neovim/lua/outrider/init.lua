-- SPDX-License-Identifier: Apache-2.0
-- SPDX-FileCopyrightText: The Outrider authors
--
-- HTTP for Neovim through the outrider service: connections, tokens, retries and downloads that all programs share.
-- Callbacks run on the main loop, each exactly once. The reference is :help outrider.
local M = {}

local client = require("outrider.client")
local exchange = require("outrider.exchange")

local function is_text(value) return type(value) == "string" and value ~= "" end

local SETTINGS = {
  command = {
    is = "a program, or a list of words",
    fits = function(value)
      if type(value) ~= "table" then return is_text(value) end
      for _, word in ipairs(value) do
        if type(word) ~= "string" then return false end
      end
      return is_text(value[1])
    end,
  },
  transport = {
    is = '"auto", "socket" or "stdio"',
    fits = function(value) return value == "auto" or value == "socket" or value == "stdio" end,
  },
  socket = { is = "the path of a socket", fits = is_text },
  start_timeout = {
    is = "a number of seconds, more than 0",
    fits = function(value) return type(value) == "number" and value > 0 and value < 86400 end,
  },
}

--- Settings: `command` (a program or a list of words), `transport` ("auto", "socket", "stdio"), `socket` (a path),
--- `start_timeout` (seconds). All have defaults, and hold for the next connection.
function M.setup(config)
  for name, value in pairs(config or {}) do
    local setting = SETTINGS[name]
    if not setting then error(("outrider.setup: there is no setting `%s`"):format(name), 2) end
    if not setting.fits(value) then
      error(("outrider.setup: `%s` cannot be %s: it is %s"):format(name, vim.inspect(value), setting.is), 2)
    end
  end
  for name, value in pairs(config or {}) do client.config[name] = value end
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

--- call(method, params, callback, event): any method of the service; `callback(err, result)`, `event(name, params)`.
M.call = client.call
--- register(fn, name): lets the service ask `fn(params, respond, method)`; returns the name for `callback` in options.
M.register = client.register
M.unregister = client.unregister
--- stop(): closes this Neovim's connection; what is pending fails once. The shared service goes on.
function M.stop() client.close() end

return M
