-- SPDX-License-Identifier: Apache-2.0
-- SPDX-FileCopyrightText: The Outrider authors
--
-- Starts the program `outrider`, and opens a byte stream to a service: on the socket that all programs of the user
-- share, or on the standard streams of a service of Neovim's own.
local uv = vim.uv or vim.loop
local M = {}

-- what is kept of the standard error of a service, for messages
local MOST_SAID = 4096
-- milliseconds that the news of the end of a service waits for its last words
local LAST_WORDS = 500
local MISSING = "cannot start `%s`: %s (install outrider and put it into PATH, "
  .. "or set `command` in require('outrider').setup)"

local function close(handle)
  if handle and not handle:is_closing() then handle:close() end
end

--- The words of the command, as a list.
function M.words(config)
  return type(config.command) == "table" and config.command or { config.command }
end

local function spawn(config, arguments, stdio, ended)
  local words = vim.list_extend({}, M.words(config))
  local program = table.remove(words, 1)
  vim.list_extend(words, arguments)
  local ok, handle, why = pcall(uv.spawn, program, { args = words, stdio = stdio, hide = true }, ended)
  if not ok or not handle then return nil, MISSING:format(program, tostring(ok and why or handle)) end
  return handle
end

--- Runs `outrider` with the arguments; calls `done(status, out, said)` in a libuv callback, with a nil status if the
--- program did not run or did not end.
function M.run(config, arguments, done)
  local out, err, timer = uv.new_pipe(false), uv.new_pipe(false), uv.new_timer()
  local written, said, status, handle, finished = {}, "", nil, nil, false
  local function finish(result, why)
    if finished then return end
    finished = true
    for _, one in ipairs({ out, err, timer }) do close(one) end
    done(result, table.concat(written), why or said)
  end
  local ended, open = false, 1
  local function check() if ended and open == 0 then finish(status) end end
  local why
  handle, why = spawn(config, arguments, { nil, out, err }, function(code)
    ended, status = true, code
    close(handle)
    check()
  end)
  if not handle then return finish(nil, why) end
  timer:start(math.floor(config.start_timeout * 1000) + 1000, 0, function()
    if not ended then handle:kill("sigkill") end
    finish(nil, ("`%s` did not end within %g s"):format(M.words(config)[1], config.start_timeout + 1))
  end)
  out:read_start(function(problem, data)
    if data then written[#written + 1] = data return end
    open = 0
    if problem then said = said .. problem end
    check()
  end)
  err:read_start(function(_, data) said = (said .. (data or "")):sub(-MOST_SAID) end)
end

-- `explain(why, tell)` calls `tell` with the reason of an end, and what the service says of it
local function carrier(input, output, ends, explain)
  explain = explain or function(why, tell) tell(why) end
  return {
    write = function(data, done)
      input:write(data, function(why)
        if why then explain(why, done) else done() end
      end)
    end,
    read = function(take, ended)
      output:read_start(function(problem, data)
        if data then take(data) else explain(problem or "the service closed it", ended) end
      end)
    end,
    close = ends,
  }
end

--- Reads the standard error of a service. The returned function is an `explain` of `carrier`.
local function listen(err)
  local said, open, waiting = "", true, {}
  err:read_start(function(_, data)
    if data then
      said = (said .. data):sub(-MOST_SAID)
      return
    end
    open = false
    for _, tell in ipairs(waiting) do tell() end
  end)
  local function words(why)
    local lines = vim.split(vim.trim(said), "%s*\n%s*")
    local last = table.concat(lines, "; ", math.max(1, #lines - 2))
    return last ~= "" and (why .. ": " .. last) or why
  end
  return function(why, tell)
    if not open or err:is_closing() then return tell(words(why)) end
    local timer = uv.new_timer()
    local function once()
      if timer:is_closing() then return end
      timer:close()
      tell(words(why))
    end
    waiting[#waiting + 1] = once
    timer:start(LAST_WORDS, 0, once)
  end
end

--- A service on the shared socket, which is started if none answers.
local function shared(config, done)
  local arguments = { "get-socket", "--timeout", tostring(config.start_timeout) }
  if config.socket then vim.list_extend(arguments, { "--socket", config.socket }) end
  M.run(config, arguments, function(status, out, said)
    local path = status == 0 and out:match('"socket":%s*"(.-[^\\])"')
    if not path then return done(vim.trim(said) ~= "" and vim.trim(said) or "`outrider get-socket` named no socket") end
    path = vim.json.decode('"' .. path .. '"')
    local pipe = uv.new_pipe(false)
    pipe:connect(path, function(problem)
      if problem then
        close(pipe)
        return done(("cannot connect to %s: %s"):format(path, problem))
      end
      done(nil, carrier(pipe, pipe, function() close(pipe) end), path)
    end)
  end)
end

--- A service of Neovim's own, which ends with it.
local function own(config, done)
  local input, output, err = uv.new_pipe(false), uv.new_pipe(false), uv.new_pipe(false)
  local handle, why
  local function ends()
    for _, one in ipairs({ input, output, err }) do close(one) end
    if handle and not handle:is_closing() then handle:kill("sigterm") end
  end
  handle, why = spawn(config, { "serve", "--stdio" }, { input, output, err }, function() close(handle) end)
  if not handle then
    ends()
    return done(why)
  end
  done(nil, carrier(input, output, ends, listen(err)), "stdio")
end

--- Calls `done(why)` or `done(nil, stream, place)` in a libuv callback, or at once.
--- The transport `auto` prefers the shared socket, and takes standard streams where no socket can be had.
function M.open(config, done)
  if config.transport == "stdio" then return own(config, done) end
  shared(config, function(why, stream, place)
    if not why or config.transport == "socket" then return done(why, stream, place) end
    own(config, function(second, other, where)
      if second then done(why == second and why or (why .. "; " .. second)) else done(nil, other, where) end
    end)
  end)
end

return M
