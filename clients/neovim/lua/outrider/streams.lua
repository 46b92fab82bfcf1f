-- SPDX-License-Identifier: Apache-2.0
-- SPDX-FileCopyrightText: The Outrider authors
--
-- Bodies and event streams as they come: one item after the other, no faster than the user's function takes them.
local base64 = require("outrider.base64")
local exchange = require("outrider.exchange")
local failure = require("outrider.failure")
local json = require("outrider.json")
local later = require("outrider.later")
local Response = require("outrider.response")
local Spec = require("outrider.spec")

local M = {}

-- bytes of the body that may be on their way; a quarter that was taken is granted anew
local WINDOW = 256 * 1024
-- the server says that there is no more, and clients shall not come back: the plain end of an event stream
local NO_MORE = 2012

local Event = {
  __index = {
    json = function(event)
      if event.value ~= nil then return event.value end
      return json.decode(event.data)
    end,
  },
}

local function bytes_of(value)
  if type(value) == "table" and type(value.base64) == "string" then return base64.decode(value.base64) end
  return value
end

-- items of one event of the service
local function items_of(name, params, raw)
  if params.error then return { { failure = failure.of_response(params.error) } } end
  if name == "event.sse" then return { { value = setmetatable(params, Event) } } end
  if name == "event.values" then
    local out = {}
    for index, value in ipairs(params.values) do
      if type(value) == "table" and not raw then
        value = setmetatable(value, Event)
      elseif raw == "bytes" then
        value = bytes_of(value)
      end
      out[index] = { value = value }
    end
    return out
  end
  if params.base64 then return { { value = base64.decode(params.base64) } } end
  if params.text ~= nil then return { { value = params.text } } end
  return { { value = params.value } }
end

--- Items that arrived and were not taken yet; the service sends no more than the window.
local Feed = {}
Feed.__index = Feed

local function feed_of(run, window, take)
  return setmetatable({ run = run, window = window, take = take, queue = {}, first = 1, last = 0, owed = 0 }, Feed)
end

function Feed:push(entry)
  self.last = self.last + 1
  self.queue[self.last] = entry
  if not self.paused then later.later(function() self:step() end) end
end

function Feed:step()
  if self.paused or self.first > self.last or self.run.over then return end
  local entry = self.queue[self.first]
  self.queue[self.first] = nil
  self.first = self.first + 1
  if entry.finish then return entry.finish() end
  -- the credit is granted also when the user's function fails, which must not hold the stream up
  local ok, why = true, nil
  if not entry.empty then ok, why = pcall(self.take, entry.value, entry.failure) end
  self:grant(entry.bytes or 0)
  if not ok then error(why, 0) end
end

function Feed:grant(bytes)
  self.owed = self.owed + bytes
  if self.connection and not self.run.over and self.owed > 0 and self.owed >= self.window / 4 then
    self.connection:notify("stream.credit", { stream = self.stream, bytes = self.owed })
    self.owed = 0
  end
end

function Feed:pause() self.paused = true end

function Feed:resume()
  if not self.paused then return end
  self.paused = false
  for _ = self.first, self.last do later.later(function() self:step() end) end
end

local function ended(run, connection, params, normal)
  return function()
    local result = params.response
    if not result.ok and normal[result.error.code] then
      return run.finish(nil, Response.new(result, "bytes"))
    end
    exchange.conclude(run, connection, result, "bytes")
  end
end

local function open(rpc, spec, take, callback, normal)
  local params, own = spec.params, spec.own
  local run = exchange.new(spec, callback)
  local feed = feed_of(run, params.credit or WINDOW, take)
  local raw = rpc == "stream.open" and ((own.as == "frames" or own.as == "lines") and "bytes" or "values") or nil
  local head = own.on_response and exchange.observer(run, own.on_response)
  local progress = own.progress and exchange.observer(run, own.progress)
  params.mode, params.credit, params.events = "push", feed.window, { "response", "finish", progress and "progress" }
  if own.as ~= "bytes" and own.as ~= "text" and own.as ~= nil or rpc == "sse.open" then params.batch = true end
  local connection
  local function event(name, told)
    if name == "lost" then return run.finish(told) end
    if name == "event.finish" then
      connection:route(told.request, nil)
      return feed:push({ finish = ended(run, connection, told, normal) })
    end
    if name == "event.response" then
      if head then head(told) end
    elseif name == "event.progress" then
      if progress then progress(told) end
    elseif name == "event.end" then
      connection:route(told.stream, nil)
    else
      local items = items_of(name, told, raw)
      local bytes = told.bytes or (told.base64 and #(items[1].value or "")) or 0
      if #items == 0 then items[1] = { empty = true } end
      items[#items].bytes = bytes
      for _, item in ipairs(items) do feed:push(item) end
    end
  end
  run.begin(function(opened)
    connection = opened
    -- a stream that was closed before it was open is cancelled as soon as it has a name
    connection:call(rpc, params, function(problem, result)
      if problem then return run.fail(problem) end
      if run.over then return connection:notify("request.cancel", { request = result.request }) end
      feed.connection, feed.stream = connection, result.stream
      connection:route(result.stream, event)
      connection:route(result.request, event)
      run.giving_up(function()
        connection:route(result.stream, nil)
        connection:route(result.request, nil)
        connection:notify("request.cancel", { request = result.request })
      end)
    end)
  end)
  run.handle.pause = function() feed:pause() end
  run.handle.resume = function() feed:resume() end
  return run.handle
end

local function checked(what, take, callback)
  if type(take) ~= "function" or type(callback) ~= "function" then
    error(("outrider.%s: the function for items and the callback must be functions"):format(what), 3)
  end
end

--- See :help outrider.stream().
function M.stream(url, opts, take, callback)
  checked("stream", take, callback)
  local ok, spec = pcall(Spec.build, opts and opts.method or "GET", url, opts, { as = true })
  if not ok then return exchange.refuse(callback, spec) end
  return open("stream.open", spec, take, callback, {})
end

--- See :help outrider.sse().
function M.sse(url, opts, take, callback)
  checked("sse", take, callback)
  local ok, spec = pcall(Spec.build, opts and opts.method, url, opts, { json = true })
  if not ok then return exchange.refuse(callback, spec) end
  return open("sse.open", spec, take, callback, { [NO_MORE] = true })
end

return M
