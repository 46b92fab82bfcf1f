-- SPDX-License-Identifier: Apache-2.0
-- SPDX-FileCopyrightText: The Outrider authors
--
-- Neovim: log in with OAuth 2, and read what needs it to the end of the current buffer.
--   :luafile login.lua
--   :lua Fetch("https://api.example/me", { name = "work", grant = "authorizationCode", issuer = "https://login.example",
--        clientId = "abc", origins = { "https://api.example" }, persist = "disk" })    -- or grant = "device"
--   A server that knows one redirect URI only, http://127.0.0.1:8400/callback: , { port = 8400, path = "/callback" })
local rpc

local function call(method, params, done)
  rpc.request(method, params, vim.schedule_wrap(function(problem, result)
    if problem then return vim.notify(problem.message, vim.log.levels.ERROR) end
    done(result)
  end))
end

local function login(spec, listen, done)
  local device, wishes = spec.grant == "device", { credential = spec.name }
  if not device then wishes.open, wishes.listen = true, listen end
  call(device and "oauth.device" or "oauth.login", wishes, function(begun)
    vim.notify(device and ("Open %s and enter %s"):format(begun.verificationUri, begun.userCode) or "Open " .. begun.url)
    call("oauth.wait", { credential = spec.name }, function(ended)
      if ended.ok then done() else vim.notify(ended.error.message, vim.log.levels.ERROR) end
    end)
  end)
end

function Fetch(url, spec, listen)
  local buffer, dispatch = vim.api.nvim_get_current_buf(), { notification = function() end, server_request = function() end }
  rpc = rpc or (vim.fn.has("nvim-0.10") == 1 and vim.lsp.rpc.start({ "outrider", "serve", "--stdio" }, dispatch)
    or vim.lsp.rpc.start("outrider", { "serve", "--stdio" }, dispatch))
  local function fetch()
    call("data.send", { url = url, auth = { oauth = spec.name }, serialize = { as = "text" } }, function(response)
      local text = response.ok and response.body.text or response.error.message
      vim.api.nvim_buf_set_lines(buffer, -1, -1, false, vim.split(text, "\n", { plain = true }))
    end)
  end
  call("oauth.create", spec, function()
    call("oauth.get", { credential = spec.name }, function(info)
      local needs_nobody = info.state == "empty" and info.refreshable    -- as with grant = "clientCredentials"
      if info.state == "ready" or needs_nobody then fetch() else login(spec, listen, fetch) end
    end)
  end)
end
