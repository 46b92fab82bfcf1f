-- SPDX-License-Identifier: Apache-2.0
-- SPDX-FileCopyrightText: The Outrider authors
--
-- Subscriptions: every step of the requests of this Neovim, as docs/guide/events.md describes them.
local exchange = require("outrider.exchange")
local later = require("outrider.later")

local M = {}

-- events on their way to the user's function; each quarter of them is acknowledged
local WINDOW = 100

--- See :help outrider.watch().
function M.watch(topics, opts, take, callback)
  if type(take) ~= "function" or type(callback) ~= "function" then
    error("outrider.watch: the function for events and the callback must be functions", 3)
  end
  local params = vim.tbl_extend("force", { window = WINDOW }, opts or {})
  params.topics = type(topics) == "table" and topics or { topics }
  local run = exchange.new(nil, callback)
  local function observe(connection, name, event)
    if name == "lost" then return run.finish(event) end
    if name ~= "event.monitor" then return end
    later.later(function()
      if run.over then return end
      local ok, why = pcall(take, event)
      if (event.seq + 1) % math.max(1, math.floor(params.window / 4)) == 0 then
        connection:notify("events.ack", { subscription = event.subscription, seq = event.seq })
      end
      if not ok then error(why, 0) end
    end)
  end
  run.begin(function(connection)
    connection:call("events.subscribe", params, function(problem, result)
      if problem then return run.fail(problem) end
      local ending = { subscription = result.subscription }
      if run.over then return connection:notify("events.unsubscribe", ending) end
      connection:route(result.subscription, function(name, event) observe(connection, name, event) end)
      run.giving_up(function()
        connection:route(result.subscription, nil)
        connection:notify("events.unsubscribe", ending)
      end)
    end)
  end)
  return run.handle
end

return M
