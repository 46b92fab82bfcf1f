-- SPDX-License-Identifier: Apache-2.0
-- SPDX-FileCopyrightText: The Outrider authors
--
-- The connection that all requests of this Neovim share: opened by the first, opened again after its end.
local uv = vim.uv or vim.loop
local Connection = require("outrider.connection")
local failure = require("outrider.failure")
local json = require("outrider.json")
local later = require("outrider.later")
local process = require("outrider.process")

local M = { config = { command = "outrider", transport = "auto", socket = nil, start_timeout = 30 } }

local state = { connection = nil, opening = nil, place = nil, open = {}, retired = {} }
-- functions of the user that the service may ask, by name
local functions, names = {}, 0

--- Fails everything that is pending, once, and closes the connection; the next request opens another.
function M.close(why)
  why = why or "it was closed by this Neovim"
  for _, connection in ipairs(vim.tbl_keys(state.retired)) do connection:lose(why) end
  if state.connection then state.connection:lose(why) end
end

local function leave()
  later.leaving = true
  local cancelled = failure.cancelled("Neovim is leaving")
  for _, handle in ipairs(vim.tbl_keys(state.open)) do handle(cancelled) end
  M.close("Neovim is leaving")
  later.drain()
end

-- one autocommand, made by the first request
local function watch_end()
  if state.watched then return end
  state.watched = true
  local function make()
    vim.api.nvim_create_autocmd("VimLeavePre", {
      group = vim.api.nvim_create_augroup("outrider", { clear = true }), once = true, callback = leave,
      desc = "outrider: fail what is pending",
    })
  end
  if vim.in_fast_event() then vim.schedule(make) else make() end
end

--- Keeps `action` until the returned function is called; it is called with a failure when Neovim leaves.
function M.until_leaving(action)
  state.open[action] = true
  return function() state.open[action] = nil end
end

local function opened(why, stream, place)
  local waiting = state.opening or {}
  state.opening = nil
  if not why then
    state.place = place
    local connection
    local function leave_it()
      if state.connection == connection then state.connection, state.place = nil, nil end
    end
    connection = Connection.new(stream, functions, function()
      state.retired[connection] = nil
      leave_it()
    end, function()
      -- the replies of a service that is stopping still come, and the next request goes to another service
      state.retired[connection] = true
      leave_it()
    end)
    state.connection = connection
  end
  local problem = why and failure.unavailable(("no outrider service: %s (see :checkhealth outrider)"):format(why))
  for _, done in ipairs(waiting) do done(problem, state.connection) end
end

--- Calls `done(problem, connection)`, at once where there is a connection, else when one was opened or could not be.
function M.connect(done)
  if later.leaving then return done(failure.cancelled("Neovim is leaving")) end
  watch_end()
  if state.connection then return done(nil, state.connection) end
  if state.opening then
    state.opening[#state.opening + 1] = done
    return
  end
  state.opening = { done }
  local ok, why = pcall(process.open, M.config, opened)
  if not ok then
    if not state.opening then error(why, 0) end
    opened(tostring(why))
  end
end

--- Where the service is: the path of a socket, `stdio`, or nil without a connection.
function M.place() return state.place end

--- Calls any method of docs/reference: `callback(problem, result)` runs later, exactly once. `event(name, params)` gets
--- the events of the call, and of what its result names. Returns `{ close }`.
function M.call(method, params, callback, event)
  if type(params) == "function" and callback == nil then params, callback = {}, params end
  if event ~= nil and type(event) ~= "function" then
    error("outrider.call: the function for events must be a function", 2)
  end
  local done = later.once(callback or function() end)
  local route = event and require("outrider.routes").new(params or {}, event)
  local forget, ended, opened
  local release
  local function finish(...)
    if ended then return end
    ended = true
    if not opened then release() end
    done(...)
  end
  local function close(problem)
    local why = type(problem) == "table" and problem.kind and problem or failure.cancelled()
    if opened then
      release()
      local close_it = opened
      opened = nil
      return close_it(why)
    end
    if ended then return end
    -- the service may have opened already what has to be closed
    if forget then forget(route ~= nil) end
    finish(why)
  end
  release = M.until_leaving(close)
  local function start(again)
    M.connect(function(problem, connection)
      if ended then return end
      if problem then return finish(problem) end
      forget = connection:call(method, route and route.params or params or {}, function(failed, result)
        -- a call that never reached a service that had ended is made once more
        if failed and failed.unsent and not again and not ended then return start(true) end
        if not route or failed then return finish(failed, result) end
        if ended then return route.close(connection, result) end
        route:open(connection, result)
        if next(route.handles) ~= nil then
          route.on_end = function()
            release()
            opened = nil
          end
          opened = function(why)
            route:lose(why)
            route.close(connection, result)
          end
        end
        finish(failed, result)
      end, route and function(name, told)
        if not ended then route:tell(name, told) end
      end)
    end)
  end
  start()
  return { close = function() close() end }
end

--- Lets the service ask `action(params, respond, method)` under a name: `callback` in the options of a request.
function M.register(action, name)
  if not name then
    names = names + 1
    name = ("nvim-%d-%d"):format(uv.os_getpid(), names)
  end
  functions[name] = action
  return name
end

function M.unregister(name) functions[name] = nil end

--- Whether the value is JSON's null.
function M.is_null(value) return value == nil or value == json.null end

return M
