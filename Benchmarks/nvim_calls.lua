-- SPDX-License-Identifier: Apache-2.0
-- SPDX-FileCopyrightText: The Outrider authors
-- 100 HTTPS calls from Neovim, one after the other: through clients/neovim, or by spawning curl.
-- nvim --headless -u NONE -l nvim_calls.lua is not in every version, so: nvim --headless -u NONE -c "luafile …" -c qa
local url, ca, kind, n = vim.env.BENCH_URL, vim.env.BENCH_CA, vim.env.BENCH_KIND, tonumber(vim.env.BENCH_N)
local uv = vim.uv or vim.loop

local function report(start)
  io.stdout:write(string.format('{"seconds":%f,"cpu":0,"n":%d}\n', (uv.hrtime() - start) / 1e9, n))
end

if kind == "curl" then
  local start = uv.hrtime()
  for _ = 1, n do
    local out = vim.fn.system({ "curl", "-sS", "--cacert", ca, url })
    assert(vim.json.decode(out).id == 1)
  end
  report(start)
else
  vim.opt.runtimepath:prepend(vim.env.BENCH_CLIENTS .. "/neovim")
  local outrider = require("outrider")
  outrider.setup({ command = vim.env.OUTRIDER })
  local start, done = uv.hrtime(), 0
  local function call()
    outrider.get(url, { as = "json" }, function(err, response)
      assert(not err and response.body.id == 1, err)
      done = done + 1
      if done < n then call() end
    end)
  end
  call()
  vim.wait(60000, function() return done >= n end, 1)
  assert(done >= n, "only " .. done .. " responses")
  report(start)
end
