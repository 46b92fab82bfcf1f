-- SPDX-License-Identifier: Apache-2.0
-- SPDX-FileCopyrightText: The Outrider authors
--
-- One request and its response: the callback runs once, whatever happens.
local client = require("outrider.client")
local failure = require("outrider.failure")
local later = require("outrider.later")
local Response = require("outrider.response")
local Spec = require("outrider.spec")

local M = {}

-- the longest body that comes within the reply, by its shape; a longer one is read in pieces. Neovim does nothing else
-- while it reads a message, and base64 takes the longest.
local MOST_INLINE = { base64 = 1024 * 1024, text = 8 * 1024 * 1024, json = 8 * 1024 * 1024 }
local SHAPES = { bytes = "base64", text = "text", json = "json" }
local NO_ERROR_PAGE = { status = { "200..299" } }

--- What all kinds of requests share: the callback, `close`, and what is taken back at the end.
--- `run.begin(start)` connects, and calls `start(connection)`. `run.finish(problem, response)` ends it, and so does
--- `run.fail(problem)`, but where the request was not sent.
function M.new(spec, callback)
  local run = { over = false }
  local done, give_up, release = later.once(callback), nil, nil
  function run.finish(problem, response)
    if run.over then return end
    run.over = true
    release()
    if spec then spec:release() end
    done(problem, response)
  end
  function run.close(problem)
    if run.over then return end
    run.closed = true
    local give = give_up
    run.finish(problem or failure.cancelled())
    if give then give() end
  end
  function run.giving_up(action) give_up = action end
  function run.begin(start)
    run.start = start
    client.connect(function(problem, connection)
      if run.over then return end
      if problem then return run.finish(problem) end
      start(connection)
    end)
  end
  -- a call that never reached a service that had ended is made once more
  function run.fail(problem)
    if run.over or not problem.unsent or run.again then return run.finish(problem) end
    run.again = true
    give_up = nil
    run.begin(run.start)
  end
  release = client.until_leaving(function(problem) run.close(problem) end)
  run.handle = { close = function() run.close() end, is_closed = function() return run.over end }
  return run
end

--- A function that runs a user's function later, before the callback; not once the request was closed.
function M.observer(run, action)
  return function(...)
    if run.over then return end
    local count, values = select("#", ...), { ... }
    later.later(function()
      if not run.closed then action(unpack(values, 1, count)) end
    end)
  end
end

--- Ends `run` with what the service replied: with a failure beside the response, where it failed.
function M.conclude(run, connection, result, as, deliver)
  local ok, response = pcall(Response.new, result, as)
  if not ok then return run.finish(failure.invalid(tostring(response))) end
  local cancel = Response.load(connection, response, function(problem)
    local failed = problem or (not result.ok and failure.of_response(result.error, response)) or nil
    if failed or not deliver then return run.finish(failed, response) end
    deliver(response)
  end)
  if cancel then run.giving_up(cancel) end
end

local function into_buffer(run, buffer)
  return function(response)
    later.later(function()
      if run.over then return end
      local ok, why = pcall(Response.fill, buffer, response)
      response.body = true
      run.finish(not ok and failure.invalid(("cannot fill buffer %s: %s"):format(buffer, why)) or nil, response)
    end)
  end
end

local function refuse(callback, why)
  later.once(callback)(failure.invalid(why))
  return { close = function() end, is_closed = function() return true end }
end
M.refuse = refuse

local function prepare(method, url, opts)
  local spec = Spec.build(method, url, opts)
  local params, own = spec.params, spec.own
  if own.outpath ~= nil then
    if type(own.outpath) ~= "string" then
      spec:release()
      error("`outpath` must be the path of a file", 0)
    end
    params.destination = { path = Spec.absolute(own.outpath), replace = true }
    if params.validate == nil then params.validate = NO_ERROR_PAGE end
    return spec, "download.send"
  end
  -- a buffer takes text, whatever `as` says
  if own.outbuf ~= nil then own.as = nil end
  if own.as ~= nil and not SHAPES[own.as] then
    spec:release()
    error(("`as` must be bytes, text or json, not %s"):format(tostring(own.as)), 0)
  end
  params.serialize = params.serialize or { as = SHAPES[own.as or "bytes"] }
  params.maxInline = params.maxInline or MOST_INLINE[SHAPES[own.as or "bytes"]]
  return spec, "data.send"
end

--- Lets `progress` and `on_response` of the user have the events of the call; returns what takes them.
local function observers(run, spec)
  local observe, kinds, own = {}, {}, spec.own
  if own.progress then observe["event.progress"], kinds[1] = M.observer(run, own.progress), "progress" end
  if own.on_response then
    observe["event.response"], kinds[#kinds + 1] = M.observer(run, own.on_response), "response"
  end
  if #kinds > 0 then spec.params.events = kinds end
  return function(name, params)
    if observe[name] then observe[name](params) end
  end
end

--- See :help outrider.request().
function M.request(method, url, opts, callback)
  if type(opts) == "function" and callback == nil then opts, callback = {}, opts end
  if type(callback) ~= "function" then error("outrider.request: the callback must be a function", 2) end
  if type(method) ~= "string" then return refuse(callback, "the method must be a string") end
  local ok, spec, rpc = pcall(prepare, method, url, opts)
  if not ok then return refuse(callback, spec) end
  local own, run = spec.own, M.new(spec, callback)
  local observe = observers(run, spec)
  local deliver = own.outbuf and into_buffer(run, own.outbuf) or nil
  run.begin(function(connection)
    run.giving_up(connection:call(rpc, spec.params, function(problem, result)
      if problem then return run.fail(problem) end
      run.giving_up(nil)
      M.conclude(run, connection, result, own.as or "bytes", deliver)
    end, observe))
  end)
  return run.handle
end

--- Downloads to `opts.path`, or into `opts.directory`: see :help outrider.download().
function M.download(url, opts, callback)
  if type(opts) == "string" then opts = { path = opts } end
  if type(callback) ~= "function" then error("outrider.download: the callback must be a function", 2) end
  if type(opts) ~= "table" then return refuse(callback, "a download needs a `path` or a `directory`") end
  local sent = vim.tbl_extend("force", {}, opts)
  local place = { filename = opts.filename, replace = opts.replace, createDirectories = opts.createDirectories }
  for _, name in ipairs({ "path", "directory" }) do
    if type(opts[name]) == "string" then place[name] = Spec.absolute(opts[name]) end
    sent[name] = nil
  end
  if not place.path and not place.directory and not opts.destination then
    return refuse(callback, "a download needs a `path` or a `directory`")
  end
  sent.filename, sent.replace, sent.createDirectories, sent.outpath = nil, nil, nil, nil
  sent.destination = opts.destination or place
  if sent.resume == nil then sent.resume = true end
  if sent.validate == nil then sent.validate = NO_ERROR_PAGE end
  local ok, spec = pcall(Spec.build, opts.method or "GET", url, sent)
  if not ok then return refuse(callback, spec) end
  local run = M.new(spec, callback)
  local observe = observers(run, spec)
  run.begin(function(connection)
    run.giving_up(connection:call("download.send", spec.params, function(problem, result)
      if problem then return run.fail(problem) end
      run.giving_up(nil)
      M.conclude(run, connection, result, "bytes")
    end, observe))
  end)
  return run.handle
end

return M
