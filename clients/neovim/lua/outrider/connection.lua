-- SPDX-License-Identifier: Apache-2.0
-- SPDX-FileCopyrightText: The Outrider authors
--
-- One connection to a service: calls and their replies, events by their handles, callbacks of the service.
-- All functions may be called from libuv callbacks; `reply` and event routes run there, in the order of arrival.
local Lines = require("outrider.lines")
local failure = require("outrider.failure")
local json = require("outrider.json")
local later = require("outrider.later")

local Connection = {}
Connection.__index = Connection

-- the service takes 256 calls of one connection at once; the rest waits here
local MOST_RUNNING = 200
local MOST_WAITING = 65536
-- the service lets 64 callbacks of one connection wait: so many requests with functions run at once
local MOST_ASKING = 56
local METHOD_NOT_FOUND, CALLBACK_FAILED = -32601, -32603

--- `functions` are the user's, by the names that requests give them; `ended(why)` is called once, and `stopping()` when
--- the service takes no more calls.
function Connection.new(stream, functions, ended, stopping)
  local self = setmetatable({
    stream = stream, functions = functions, ended = ended, stopping = stopping, lines = Lines.new(), number = 0,
    running = 0, replies = {}, calls = {}, routes = {}, waiting = {}, first = 1, last = 0, alive = true,
    asking = 0, held = {}, first_held = 1, last_held = 0,
  }, Connection)
  stream.read(function(data) self:receive(data) end, function(why) self:lose(why) end)
  return self
end

function Connection:write(message, call)
  self.stream.write(message .. "\n", function(why)
    if why then return self:lose(why) end
    if call then call.sent = true end
  end)
end

local function envelope(id, method, params)
  return ('{"jsonrpc":"2.0",%s"method":"%s","params":%s}'):format(id and ('"id":%d,'):format(id) or "", method, params)
end

--- Calls a method; `reply(problem, result)` runs exactly once. `event(method, params)` gets the events of the call.
--- Returns a function that forgets the call: nothing is replied any more, and the service is told to cancel it. With
--- true, the reply of a call that was sent still comes: it may name what has to be closed.
function Connection:call(method, params, reply, event)
  local ok, text = pcall(json.encode, json.as_object(params))
  if type(method) ~= "string" or method:find('[%c"\\]') then
    ok, text = false, "the method must be the name of a method, such as data.send"
  end
  if not ok then
    reply(failure.invalid(text))
    return function() end
  end
  local asks = text:find('"callback":"', 1, true) ~= nil
  local call = { method = method, text = text, reply = reply, event = event, asks = asks }
  if not self.alive then
    local lost = failure.lost("it is closed")
    lost.unsent = true
    reply(lost)
  elseif self.last - self.first + self.last_held - self.first_held >= MOST_WAITING then
    reply(failure.invalid(("more than %d calls wait for their turn"):format(MOST_WAITING)))
  elseif asks and self.asking >= MOST_ASKING then
    self.last_held = self.last_held + 1
    self.held[self.last_held] = call
  else
    self:admit(call)
  end
  return function(hears) self:forget(call, hears) end
end

function Connection:admit(call)
  if call.asks then self.asking = self.asking + 1 end
  if self.running < MOST_RUNNING then return self:start(call) end
  self.last = self.last + 1
  self.waiting[self.last] = call
end

--- A call has ended, or was never sent: the next that asks functions may begin.
function Connection:release(call)
  if call.asks then self.asking = self.asking - 1 end
  while self.alive and self.asking < MOST_ASKING and self.first_held <= self.last_held do
    local held = self.held[self.first_held]
    self.held[self.first_held] = nil
    self.first_held = self.first_held + 1
    if not held.forgotten then self:admit(held) end
  end
end

function Connection:start(call)
  self.number = self.number + 1
  self.running = self.running + 1
  call.id = self.number
  self.replies[call.id] = call
  self:write(envelope(call.id, call.method, call.text), call)
  call.text = nil
end

--- Drops the reply of a call, and cancels it. What was never sent is dropped when its turn comes.
function Connection:forget(call, hears)
  call.forgotten = not hears or not call.id
  if call.id and self.replies[call.id] and self.alive then
    self:notify("$/cancelRequest", { id = call.id })
  end
end

function Connection:next()
  while self.alive and self.running < MOST_RUNNING and self.first <= self.last do
    local call = self.waiting[self.first]
    self.waiting[self.first] = nil
    self.first = self.first + 1
    if call.forgotten then self:release(call) else self:start(call) end
  end
end

function Connection:notify(method, params)
  if self.alive then self:write(envelope(nil, method, json.encode(json.as_object(params)))) end
end

--- Sends the events that name a handle to `event(method, params)`; nil ends that.
function Connection:route(handle, event) self.routes[handle] = event end

function Connection:receive(data)
  self.lines:feed(data, function(line)
    if not self.alive then return end
    local ok, why = pcall(self.handle, self, line)
    -- a fault of this client is shown, and the messages behind it are handled all the same
    if not ok then later.later(function() error(why, 0) end) end
  end)
end

function Connection:handle(line)
  local ok, message = pcall(json.decode, line)
  if not ok or type(message) ~= "table" then return self:unreadable(line) end
  if message.method then
    if message.id then self:asked(message) else self:told(message.method, message.params) end
  elseif message.id == json.null then
    -- why the service is about to close the connection
    self.complaint = message.error and message.error.message
  elseif message.id then
    self:replied(message.id, message.error and failure.of_error(message.error), message.result)
  end
end

--- A message that Neovim cannot read fails the call that it is for.
function Connection:unreadable(line)
  local id = tonumber(line:match('^{"jsonrpc":"2.0","id":(%d+)'))
  if id then self:replied(id, failure.invalid("Neovim cannot read the JSON of the service's reply")) end
end

function Connection:replied(id, problem, result)
  local call = self.replies[id]
  if not call then return end
  self.replies[id] = nil
  self.running = self.running - 1
  if problem and problem.code == failure.STOPPING then self:retire() end
  self:release(call)
  if not call.forgotten then
    local ok, why = pcall(call.reply, problem, result)
    -- no call is left without an end
    if not ok then pcall(call.reply, failure.invalid(tostring(why))) end
  end
  self:next()
end

function Connection:told(method, params)
  local call = params.call and self.replies[params.call]
  -- an event of a subscription names the request, too
  local event = self.routes[params.subscription or false]
    or (not params.subscription and (call and call.event
      or self.routes[params.stream or false]
      or self.routes[params.request or false]))
  if event and not (call and call.forgotten) then event(method, params) end
end

--- The service asks a function of the user. The function returns its answer, or calls `respond` with it later.
function Connection:asked(message)
  local responded = false
  local function respond(member, value)
    if responded or not self.alive then return end
    responded = true
    local ok, text = pcall(json.encode, json.as_object(value))
    if not ok then
      member, text = "error", json.encode({ code = CALLBACK_FAILED, message = "the function's answer: " .. text })
    end
    self:write(('{"jsonrpc":"2.0","id":%d,"%s":%s}'):format(message.id, member, text))
  end
  local name = message.params.callback
  local action = self.functions[name]
  if not action then
    local why = ("no function is known as %s"):format(tostring(name))
    return respond("error", { code = METHOD_NOT_FOUND, message = why })
  end
  later.later(function()
    local ok, answer = pcall(action, message.params, function(value) respond("result", value) end, message.method)
    if not ok then
      respond("error", { code = CALLBACK_FAILED, message = tostring(answer) })
      error(answer, 0)
    elseif answer ~= nil then
      respond("result", answer)
    end
  end)
end

--- The calls that were never written, which leave their queues: they can be made on the next connection.
function Connection:unwritten()
  local calls = {}
  for index = self.first, self.last do calls[#calls + 1] = self.waiting[index] end
  for index = self.first_held, self.last_held do calls[#calls + 1] = self.held[index] end
  self.waiting, self.first, self.last = {}, 1, 0
  self.held, self.first_held, self.last_held = {}, 1, 0
  return calls
end

--- The service is stopping: replies to what was sent still come.
function Connection:retire()
  if self.retired then return end
  self.retired = true
  self.stopping()
  local unsent = failure.lost("the service is stopping")
  unsent.unsent = true
  for _, call in ipairs(self:unwritten()) do
    if not call.forgotten then call.reply(unsent) end
  end
end

--- The end of the connection: every call that is pending fails, once.
function Connection:lose(why)
  if not self.alive then return end
  self.alive = false
  if self.complaint then why = why .. ": " .. self.complaint end
  self.stream.close()
  self.ended(why)
  -- a call that was not written has never begun: it can be made again on the next connection
  local lost, unsent = failure.lost(why), failure.lost(why)
  unsent.unsent = true
  local calls = {}
  for _, call in pairs(self.replies) do calls[#calls + 1] = call end
  table.sort(calls, function(left, right) return left.id < right.id end)
  for _, call in ipairs(self:unwritten()) do calls[#calls + 1] = call end
  local routes = self.routes
  self.replies, self.routes = {}, {}
  for _, call in ipairs(calls) do
    if not call.forgotten then call.reply(call.sent and lost or unsent) end
  end
  for _, event in pairs(routes) do event("lost", lost) end
end

return Connection
