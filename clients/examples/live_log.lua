-- SPDX-License-Identifier: Apache-2.0
-- SPDX-FileCopyrightText: The Outrider authors
-- Neovim: a live log. The text messages of a WebSocket become lines at the end of the current buffer.
--   :luafile live_log.lua
--   :lua log = LiveLog("wss://example.org/log")
--   :lua log.send("verbose")        :lua log.close()
local WINDOW = 262144

local function start(words, handlers)
  if vim.fn.has("nvim-0.10") == 1 then return vim.lsp.rpc.start(words, handlers) end
  return vim.lsp.rpc.start(words[1], vim.list_slice(words, 2), handlers)
end

function LiveLog(url)
  local buffer, stream, taken, rpc = vim.api.nvim_get_current_buf(), nil, 0, nil
  local events = {
    ["event.message"] = function(params)
      vim.api.nvim_buf_set_lines(buffer, -1, -1, false, vim.split(params.text or "", "\n", { plain = true }))
      -- the service sends no more than the window ahead
      taken = taken + params.bytes
      if taken * 4 < WINDOW then return end
      rpc.notify("stream.credit", { stream = stream, bytes = taken })
      taken = 0
    end,
    ["event.socket"] = function(params) vim.notify("live log: " .. params.kind) end,
    ["event.end"] = function(params) vim.notify("live log: " .. (params.error and params.error.message or "closed")) end,
  }
  rpc = start({ "outrider", "serve", "--stdio" }, {
    notification = function(method, params) if events[method] then events[method](params) end end,
  })
  rpc.request("websocket.open", { url = url, mode = "push", credit = WINDOW, reconnect = true }, function(err, result)
    stream = result and result.stream
    if stream then return end
    vim.notify("live log: " .. (err or result.response.error).message, vim.log.levels.ERROR)
    rpc.notify("exit")
  end)
  local function call(method, params, done)
    rpc.request(method, params, function(err)
      if err then vim.notify("live log: " .. err.message, vim.log.levels.ERROR) end
      if done then done() end
    end)
  end
  return {
    send = function(text) call("websocket.send", { stream = stream, text = text }) end,
    -- the service ends with its log
    close = function() call("websocket.close", { stream = stream }, function() rpc.notify("exit") end) end,
  }
end
