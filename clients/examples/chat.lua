-- SPDX-License-Identifier: Apache-2.0
-- SPDX-FileCopyrightText: The Outrider authors
--
-- Neovim: the answer of a language model, streamed to the end of the current buffer. Needs clients/neovim.
--   :luafile chat.lua
--   :lua Chat("http://127.0.0.1:8080/chat", { model = "m", messages = { { role = "user", content = "Hi" } } })
local outrider = require("outrider")

local function append(buffer, text)
  local last = vim.api.nvim_buf_line_count(buffer) - 1
  local column = #vim.api.nvim_buf_get_lines(buffer, last, last + 1, false)[1]
  vim.api.nvim_buf_set_text(buffer, last, column, last, column, vim.split(text, "\n", { plain = true }))
end

local function at(value, ...)
  for _, name in ipairs({ ... }) do value = type(value) == "table" and value[name] or nil end
  return value
end

function Chat(url, body)
  local buffer = vim.api.nvim_get_current_buf()
  -- handle.close() stops the model
  return outrider.sse(url, { json = vim.tbl_extend("force", body, { stream = true }) }, function(event)
    if event.data == "[DONE]" or not vim.api.nvim_buf_is_valid(buffer) then return end
    -- the first event of some servers, and the one with the usage, have no text
    local content = at(event:json(), "choices", 1, "delta", "content")
    if type(content) == "string" then append(buffer, content) end
  end, function(err)
    if err then vim.notify(tostring(err), vim.log.levels.ERROR) end
  end)
end
