-- SPDX-License-Identifier: Apache-2.0
-- SPDX-FileCopyrightText: The Outrider authors
--
-- Neovim: the answer of a language model, streamed to the end of the current buffer.
--   :luafile chat.lua
--   :lua Chat("http://127.0.0.1:8080/chat", { model = "m", messages = { { role = "user", content = "Hi" } } })
local rpc, buffers = nil, {}

local function append(buffer, text)
  local last = vim.api.nvim_buf_line_count(buffer) - 1
  local column = #vim.api.nvim_buf_get_lines(buffer, last, last + 1, false)[1]
  vim.api.nvim_buf_set_text(buffer, last, column, last, column, vim.split(text, "\n", { plain = true }))
end

local function notified(method, params)
  local buffer = buffers[params.stream]
  if method == "event.sse" and type(params.value) == "table" then
    local content = params.value.choices[1].delta.content
    if type(content) == "string" then vim.schedule(function() append(buffer, content) end) end
  elseif method == "event.end" and params.error then
    vim.schedule(function() vim.notify(params.error.message, vim.log.levels.ERROR) end)
  end
  if method == "event.sse" then rpc.notify("stream.credit", { stream = params.stream, bytes = params.bytes }) end
end

function Chat(url, body)
  local buffer, dispatch = vim.api.nvim_get_current_buf(), { notification = notified, server_request = function() end }
  rpc = rpc or (vim.fn.has("nvim-0.10") == 1 and vim.lsp.rpc.start({ "outrider", "serve", "--stdio" }, dispatch)
    or vim.lsp.rpc.start("outrider", { "serve", "--stdio" }, dispatch))
  local request = { url = url, body = { json = vim.tbl_extend("force", body, { stream = true }) }, json = true }
  request.mode, request.credit = "push", 65536
  rpc.request("sse.open", request, function(problem, result)
    if problem then error(problem.message) end
    buffers[result.stream] = buffer
  end)
end
