-- SPDX-License-Identifier: Apache-2.0
-- SPDX-FileCopyrightText: The Outrider authors
--
-- Neovim: log in with OAuth 2, and put a page that needs the login at the end of the current buffer. Needs clients/neovim.
--   :luafile login.lua
--   :lua Fetch("https://api.example/me", { name = "work", grant = "authorizationCode", issuer = "https://login.example",
--        clientId = "abc", origins = { "https://api.example" }, persist = "disk" })    -- or grant = "device"
--   A server that knows one redirect URI only, http://127.0.0.1:8400/callback: , { port = 8400, path = "/callback" })
local outrider = require("outrider")

local function tell(err) vim.notify(tostring(err), vim.log.levels.ERROR) end

function Fetch(url, spec, listen)
  local buffer = vim.api.nvim_get_current_buf()
  outrider.login(spec, { listen = listen }, function(err)
    if err then return tell(err) end
    outrider.get(url, { oauth = spec.name, as = "text" }, function(failed, response)
      if failed then return tell(failed) end
      vim.api.nvim_buf_set_lines(buffer, -1, -1, false, vim.split(response.body, "\n", { plain = true }))
    end)
  end)
end
