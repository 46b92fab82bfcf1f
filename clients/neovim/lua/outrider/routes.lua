-- SPDX-License-Identifier: Apache-2.0
-- SPDX-FileCopyrightText: The Outrider authors
--
-- Events of a call by name, and of the stream, the request or the subscription that its result names.
local later = require("outrider.later")

local Route = {}
Route.__index = Route

-- bytes that may be on their way; a quarter that was taken is granted anew
local WINDOW = 256 * 1024

--- `take(name, params)` is the user's function. `Route.params` has the parameters of the call with the credit.
function Route.new(params, take)
  local self = setmetatable({ take = take, owed = 0, handles = {}, on_end = function() end }, Route)
  self.params = params
  if params.mode == "push" then
    self.window = type(params.credit) == "number" and params.credit or WINDOW
    self.params = vim.tbl_extend("force", params, { credit = params.credit or WINDOW })
  end
  return self
end

-- the bytes that an event takes of the credit
local function size_of(params)
  if type(params.bytes) == "number" then return params.bytes end
  if type(params.base64) ~= "string" then return 0 end
  return math.floor(#params.base64 / 4) * 3 - #params.base64:match("=*$")
end

--- Gives an event to the user's function, later and in order, and grants what the function has taken.
function Route:tell(name, params)
  later.later(function()
    local ok, why = pcall(self.take, name, params)
    -- the credit is granted also when the user's function fails, which must not hold the stream up
    if params.stream ~= nil and params.stream == self.stream then self:grant(size_of(params)) end
    if not ok then error(why, 0) end
  end)
end

function Route:grant(bytes)
  self.owed = self.owed + bytes
  if not self.window or self.ended or self.owed == 0 or self.owed < self.window / 4 then return end
  self.connection:notify("stream.credit", { stream = self.stream, bytes = self.owed })
  self.owed = 0
end

function Route:forget(handle)
  if not handle then return end
  self.handles[handle] = nil
  self.connection:route(handle, nil)
  if next(self.handles) == nil then self.on_end() end
end

function Route:finishes()
  local events = self.params.events
  return events == true or type(events) == "table" and vim.tbl_contains(events, "finish")
end

--- Takes the events of what the result names, until the end of the stream or of the request.
function Route:open(connection, result)
  self.connection = connection
  if type(result) ~= "table" then return end
  self.stream, self.subscription = result.stream, result.subscription
  self.request = self.params.events and result.request or nil
  for _, handle in ipairs({ self.stream or false, self.request or false, self.subscription or false }) do
    if handle then
      self.handles[handle] = true
      connection:route(handle, function(name, params) self:event(name, params) end)
    end
  end
end

function Route:event(name, params)
  if name == "lost" then return self:lose(params) end
  if name == "event.end" and params.stream == self.stream then
    self.ended = true
    self:forget(self.stream)
    -- without `finish` among the events, none says that the request is over
    if not self:finishes() then self:forget(self.request) end
  elseif name == "event.finish" then
    self:forget(self.request)
  end
  self:tell(name, params)
end

--- The end without an event of the service, once: that of the stream, with an error.
function Route:lose(problem)
  if next(self.handles) == nil then return end
  for handle in pairs(self.handles) do self.connection:route(handle, nil) end
  self.handles = {}
  self.on_end()
  if self.stream and not self.ended then
    self.ended = true
    self:tell("event.end", { stream = self.stream, error = problem })
  else
    self:tell("lost", problem)
  end
end

--- Ends in the service what the result names.
function Route.close(connection, result)
  if type(result) ~= "table" then return end
  if result.stream then
    connection:notify("stream.close", { stream = result.stream })
  elseif result.subscription then
    connection:notify("events.unsubscribe", { subscription = result.subscription })
  elseif result.request then
    connection:notify("request.cancel", { request = result.request })
  end
end

return Route
