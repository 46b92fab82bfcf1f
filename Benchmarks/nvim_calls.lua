-- SPDX-License-Identifier: Apache-2.0
-- SPDX-FileCopyrightText: The Outrider authors
-- 100 HTTPS calls from Neovim, one after the other: through `outrider serve --stdio`, or by spawning curl.
-- nvim --headless -u NONE -l nvim_calls.lua is not in every version, so: nvim --headless -u NONE -c "luafile …" -c qa
local url, ca, kind, n = vim.env.BENCH_URL, vim.env.BENCH_CA, vim.env.BENCH_KIND, tonumber(vim.env.BENCH_N)
local uv = vim.loop

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
  local stdin, stdout = uv.new_pipe(false), uv.new_pipe(false)
  local start = uv.hrtime()
  local process = uv.spawn(vim.env.OUTRIDER, {
    args = { "serve", "--stdio", "--ca-file", ca }, stdio = { stdin, stdout, nil },
  }, function() end)
  local buffer, done = "", 0
  local function call(id)
    stdin:write(vim.json.encode({ jsonrpc = "2.0", id = id, method = "data.send", params = { url = url } }) .. "\n")
  end
  stdout:read_start(function(_, data)
    buffer = buffer .. (data or "")
    while true do
      local stop = buffer:find("\n", 1, true)
      if not stop then return end
      local reply = vim.json.decode(buffer:sub(1, stop - 1))
      buffer = buffer:sub(stop + 1)
      assert(reply.result and reply.result.ok and reply.result.body.json.id == 1, vim.inspect(reply))
      done = done + 1
      if done < n then call(done + 1) end
    end
  end)
  call(1)
  vim.wait(60000, function() return done >= n end, 1)
  assert(done >= n, "only " .. done .. " answers")
  report(start)
  process:kill("sigterm")
end
