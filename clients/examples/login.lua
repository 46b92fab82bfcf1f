-- SPDX-License-Identifier: Apache-2.0
-- SPDX-FileCopyrightText: The Outrider authors
--
-- Neovim: log in with OAuth 2, and read what needs it to the end of the current buffer.
--   :luafile login.lua
--   :lua Fetch("https://api.example/me", { name = "work", grant = "authorizationCode", issuer = "https://login.example",
--        clientId = "abc", origins = { "https://api.example" }, persist = "disk" })    -- or grant = "device"
local rpc

local function call(method, params, done)
  rpc.request(method, params, vim.schedule_wrap(function(problem, result)
    if problem then return vim.notify(problem.message, vim.log.levels.ERROR) end
    done(result)
  end))
end

local function login(spec, done)
  local device = spec.grant == "device"
  call(device and "oauth.device" or "oauth.login", { credential = spec.name, open = not device or nil }, function(begun)
    vim.notify(device and ("Open %s and enter %s"):format(begun.verificationUri, begun.userCode) or "Open " .. begun.url)
    call("oauth.wait", { credential = spec.name }, function(ended)
      if ended.ok then done() else vim.notify(ended.error.message, vim.log.levels.ERROR) end
    end)
  end)
end

function Fetch(url, spec)
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
      if info.state == "ready" then fetch() else login(spec, fetch) end
    end)
  end)
end
