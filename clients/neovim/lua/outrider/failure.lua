-- SPDX-License-Identifier: Apache-2.0
-- SPDX-FileCopyrightText: The Outrider authors
--
-- Errors that callbacks get: tables with a message, which `tostring` and `..` show.
local M = {}

local Failure = {}
Failure.__index = Failure
Failure.__tostring = function(failure) return failure.message end
Failure.__concat = function(left, right) return tostring(left) .. tostring(right) end

local function new(members) return setmetatable(members, Failure) end

--- An exchange that failed: members of Failure in docs/reference/types.md, and the response with what arrived.
function M.of_response(failure, response)
  local members = { response = response }
  for name, value in pairs(failure) do members[name] = value end
  return new(members)
end

-- the service takes no more calls of this connection for now: the same call may succeed later
local TOO_MANY = -32011
-- the service is stopping: its end is the end of the call
M.STOPPING = -32017
local AGAIN = " (the next request starts the service again)"

--- A call that the service refused: JSON-RPC's error, with its negative code.
function M.of_error(problem)
  local data = type(problem.data) == "table" and problem.data or {}
  local stopping = problem.code == M.STOPPING
  return new({
    kind = stopping and "serviceLost" or "callFailed", code = problem.code,
    message = problem.message .. (stopping and AGAIN or ""), retryable = stopping or problem.code == TOO_MANY,
    pointer = data.pointer, data = data,
  })
end

--- A login that failed: members of OAuthError.
function M.of_login(problem)
  return new({
    kind = problem.kind, reason = problem.reason, message = problem.message, retryable = problem.kind == "temporary",
    data = problem,
  })
end

--- `close()` was called, or Neovim is leaving: the code and the kind of a request that its client cancels.
function M.cancelled(why)
  return new({
    kind = "explicitlyCancelled", code = 1900, retryable = false,
    message = "the request was cancelled: " .. (why or "its handle was closed"),
  })
end

function M.invalid(message, pointer)
  return new({ kind = "invalidOptions", message = message, retryable = false, pointer = pointer })
end

function M.unavailable(message) return new({ kind = "serviceUnavailable", message = message, retryable = true }) end

function M.lost(why)
  return new({
    kind = "serviceLost", retryable = true,
    message = "the connection to the outrider service was lost: " .. why .. AGAIN,
  })
end

return M
