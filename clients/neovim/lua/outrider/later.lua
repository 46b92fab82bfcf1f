-- SPDX-License-Identifier: Apache-2.0
-- SPDX-FileCopyrightText: The Outrider authors
--
-- Runs functions of the user on Neovim's main loop, in order, each once; when Neovim is leaving, by `drain`.
local M = { leaving = false }

local queue, first, last = {}, 1, 0

local function run()
  if first > last then return end
  local action = queue[first]
  queue[first] = nil
  first = first + 1
  action()
end

--- Runs the action later, behind those that wait already. An error in an action does not touch the others.
function M.later(action)
  last = last + 1
  queue[last] = action
  if not M.leaving then vim.schedule(run) end
end

--- Runs what waits now; for the end of Neovim, where the main loop turns no more. Actions that these add are not run: a
--- callback that makes another request when it fails would never end.
function M.drain()
  local stop = last
  while first <= stop do
    pcall(run)
  end
end

--- A function that passes its first call on to `callback`, later, and ignores all others.
function M.once(callback)
  local done = false
  return function(...)
    if done then return end
    done = true
    local count, values = select("#", ...), { ... }
    M.later(function() callback(unpack(values, 1, count)) end)
  end
end

return M
