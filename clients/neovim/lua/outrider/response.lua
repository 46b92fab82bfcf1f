-- SPDX-License-Identifier: Apache-2.0
-- SPDX-FileCopyrightText: The Outrider authors
--
-- What a callback gets: the members of Response in docs/reference/types.md, with the body as one value, and fields by name.
local base64 = require("outrider.base64")
local failure = require("outrider.failure")
local json = require("outrider.json")
local later = require("outrider.later")

local M = {}

-- what one response.read brings of a body that the service keeps; Neovim does nothing else while it reads a piece
local PIECE = 512 * 1024

local Fields = {
  -- names of fields have no case
  __index = function(fields, name) return type(name) == "string" and rawget(fields, name:lower()) or nil end,
}

local function fields(headers)
  local out = setmetatable({}, Fields)
  for _, field in ipairs(headers or {}) do
    local name = field.name:lower()
    local before = rawget(out, name)
    rawset(out, name, before and (before .. ", " .. field.value) or field.value)
  end
  return out
end

local Response = {}
Response.__index = Response

--- The body as a value; an error for a body that is not JSON.
function Response:json()
  if self.as == "json" then return self.body end
  return json.decode(self.body)
end

--- The body as UTF-8, by the charset of its Content-Type.
function Response:text()
  local charset = (self.headers["content-type"] or ""):match('[;%s][Cc][Hh][Aa][Rr][Ss][Ee][Tt]="?([%w_:.-]+)')
  if self.as == "text" or not charset or charset:lower() == "utf-8" then return self.body end
  local convert = vim.iconv or vim.fn.iconv
  local text = convert(self.body, charset, "utf-8")
  return text and text ~= "" and text or self.body
end

--- A Response of the service; `as` is what its body was asked for as.
function M.new(result, as)
  local response = setmetatable({ as = as, wanted = as, raw = result }, Response)
  for _, name in ipairs({
    "ok", "status", "url", "method", "attempts", "redirects", "metrics", "tag", "remote", "tls", "httpVersion",
    "request", "results", "resumeData", "suggestedFilename",
  }) do
    response[name] = result[name]
  end
  response.headers, response.header_list = fields(result.headers), result.headers or {}
  local body = result.body or {}
  if body.kind == "base64" then
    response.body = base64.decode(body.base64)
  elseif body.kind == "text" then
    response.body = body.text
  elseif body.kind == "json" then
    response.body = body.json
  elseif body.kind == "file" then
    response.body, response.path = true, body.path
  elseif as ~= "json" then
    response.body = ""
  end
  if as ~= "json" or body.kind ~= "json" then response.as = body.kind == "text" and "text" or "bytes" end
  if as == "text" and body.kind == "none" then response.as = "text" end
  response.size = body.size
  return response
end

-- a body that came in pieces, in the shape that was asked for; a failure if it cannot be that
local function shape(response)
  if response.wanted == "text" then
    response.body, response.as = response:text(), "text"
  elseif response.wanted == "json" then
    local ok, value = pcall(json.decode, response.body)
    if not ok then
      return failure.of_response({
        code = 1704, kind = "responseSerializationFailed", reason = "jsonSerializationFailed", retryable = false,
        message = ("the body of %s is not JSON that Neovim can read: %s"):format(response.url, value),
      }, response)
    end
    response.body, response.as = value, "json"
  end
end

--- Brings a body that the service keeps under a handle, in pieces; then `done(problem)`.
function M.load(connection, response, done)
  local body = response.raw.body or {}
  if body.kind ~= "stored" then return done() end
  local pieces, forget = {}, nil
  local function read(offset)
    local params = { response = body.response, offset = offset, bytes = PIECE }
    forget = connection:call("response.read", params, function(problem, piece)
      if problem then return done(problem) end
      local ok, bytes = pcall(base64.decode, piece.base64)
      if not ok then return done(failure.invalid(bytes)) end
      pieces[#pieces + 1] = bytes
      if not piece["end"] and #bytes > 0 then return read(offset + #bytes) end
      connection:notify("response.release", { response = body.response })
      response.body = table.concat(pieces)
      -- Neovim converts charsets on its main loop only
      later.later(function() done(response.raw.ok and shape(response) or nil) end)
    end)
  end
  read(0)
  return function()
    forget()
    connection:notify("response.release", { response = body.response })
  end
end

--- Replaces the lines of a buffer by the body.
function M.fill(buffer, response)
  local text = response:text():gsub("\r\n", "\n")
  local lines = vim.split(text, "\n", { plain = true })
  if lines[#lines] == "" and #lines > 1 then lines[#lines] = nil end
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
end

return M
