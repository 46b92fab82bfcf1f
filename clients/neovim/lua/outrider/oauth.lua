-- SPDX-License-Identifier: Apache-2.0
-- SPDX-FileCopyrightText: The Outrider authors
--
-- OAuth 2: logs a person in by a browser or on another device; the service keeps and refreshes the tokens.
local uv = vim.uv or vim.loop
local client = require("outrider.client")
local exchange = require("outrider.exchange")
local failure = require("outrider.failure")
local later = require("outrider.later")

local M = {}

local function start(program, url)
  local handle
  local ok, started, why = pcall(uv.spawn, program, { args = { url }, detached = true }, function()
    if not handle:is_closing() then handle:close() end
  end)
  handle = ok and started or nil
  if handle then handle:unref() end
  return handle ~= nil, tostring(ok and why or started)
end

--- Opens an address: $BROWSER, else vim.ui.open where Neovim has that (0.10), else xdg-open or open. No shell is
--- involved.
function M.open_browser(url)
  local browser = os.getenv("BROWSER")
  if browser and browser ~= "" then return start(browser, url) end
  if vim.ui and vim.ui.open then
    local command = vim.ui.open(url)
    return command ~= nil
  end
  return start(vim.fn.has("mac") == 1 and "open" or "xdg-open", url)
end

local function show_page(opts, begun)
  if opts.show then return opts.show(begun) end
  vim.notify("Open " .. begun.url)
end

local function show_code(opts, begun)
  if opts.show then return opts.show(begun) end
  vim.notify(("Open %s and enter %s"):format(begun.verificationUri, begun.userCode))
end

-- a browser that comes back to another machine ends on a page whose address the person pastes
local function paste(name, call)
  vim.ui.input({ prompt = "Address of the page on which the browser ended: " }, function(address)
    if address and address ~= "" then call("oauth.callback", { credential = name, url = address }, function() end) end
  end)
end

local function browse(name, opts, call, wait)
  local params = { credential = name }
  for _, member in ipairs({ "scope", "parameters", "redirect", "listen" }) do params[member] = opts[member] end
  call("oauth.login", params, function(begun)
    wait()
    local open = opts.open == nil and M.open_browser or opts.open
    if type(open) == "function" then begun.opened = open(begun.url) and true or false end
    show_page(opts, begun)
    if opts.redirect then paste(name, call) end
  end)
end

--- See :help outrider.login().
function M.login(credential, opts, callback)
  if type(opts) == "function" and callback == nil then opts, callback = {}, opts end
  opts = opts or {}
  if type(callback) ~= "function" then error("outrider.login: the callback must be a function", 2) end
  local create = type(credential) == "table" and credential or nil
  local name = create and create.name or credential
  if type(name) ~= "string" then return exchange.refuse(callback, "the credential needs a `name`") end
  local run, running = exchange.new(nil, callback), {}
  run.giving_up(function()
    for _, call in ipairs(running) do call.close() end
  end)
  -- each step runs on the main loop; the first problem ends the login
  local function call(method, params, done)
    if run.over then return end
    running[#running + 1] = client.call(method, params, function(problem, result)
      if run.over then return end
      if problem then return run.finish(problem) end
      local ok, why = pcall(done, result)
      if not ok then run.finish(failure.invalid(tostring(why))) end
    end)
  end
  local function wait()
    call("oauth.wait", { credential = name }, function(ended)
      if ended.ok then return run.finish(nil, ended.credential) end
      local pending = { kind = "temporary", reason = "pending", message = "the login has not ended" }
      run.finish(failure.of_login(ended.error or pending))
    end)
  end
  local function begin(info)
    if info.grant == "device" then
      call("oauth.device", { credential = name, scope = opts.scope }, function(begun)
        wait()
        show_code(opts, begun)
      end)
    else
      browse(name, opts, call, wait)
    end
  end
  local function look()
    call("oauth.get", { credential = name }, function(info)
      local usable = info.state == "ready" or (info.state == "empty" and info.refreshable)
      if usable and not opts.force then return run.finish(nil, info) end
      begin(info)
    end)
  end
  if create then call("oauth.create", create, look) else later.later(look) end
  return run.handle
end

return M
