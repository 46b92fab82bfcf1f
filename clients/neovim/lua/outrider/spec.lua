-- SPDX-License-Identifier: Apache-2.0
-- SPDX-FileCopyrightText: The Outrider authors
--
-- Options of a request as Neovim's users write them, brought into the words of docs/reference/types.md.
local uv = vim.uv or vim.loop
local base64 = require("outrider.base64")
local client = require("outrider.client")
local json = require("outrider.json")

local M = {}

-- a longer body goes through a private file: one message to the service has at most 16 MiB
local MOST_INLINE = 4 * 1024 * 1024

local Spec = {}
Spec.__index = Spec

--- What the request has registered and written; `spec:release()` takes it back.
local function new(method, url, opts)
  local params = { url = url, method = method }
  return setmetatable({ params = params, names = {}, files = {}, own = opts, inline = 0 }, Spec)
end

function Spec:release()
  for _, name in ipairs(self.names) do client.unregister(name) end
  for _, path in ipairs(self.files) do uv.fs_unlink(path) end
  self.names, self.files = {}, {}
end

--- An absolute path; relative ones begin in the current directory.
function M.absolute(path)
  if path:sub(1, 1) == "/" or path == "~" or path:sub(1, 2) == "~/" then return (path:gsub("^~", uv.os_homedir())) end
  return uv.cwd() .. "/" .. path
end

--- The name of a private file with the bytes.
function Spec:spool(bytes)
  local template = (os.getenv("TMPDIR") or "/tmp") .. "/nvim-outrider-XXXXXX"
  local file, path = uv.fs_mkstemp(template)
  if not file then error(("cannot write a large body to a file: %s"):format(path), 0) end
  self.files[#self.files + 1] = path
  local written, at = true, 0
  while written and at < #bytes do
    local count, why = uv.fs_write(file, bytes:sub(at + 1, at + 1048576), at)
    written = count and count > 0
    at = at + (count or 0)
    if not written then error(("cannot write a large body to %s: %s"):format(path, tostring(why)), 0) end
  end
  uv.fs_close(file)
  return path
end

--- The body, or the part of a form, that holds these bytes. All that stand in one message have at most `MOST_INLINE`.
function Spec:content(bytes)
  local is_text = #bytes <= MOST_INLINE and json.is_utf8(bytes)
  -- a control character takes six bytes of JSON
  local size = #bytes * (is_text and bytes:find("[%z\1-\7\11\14-\31\127]") and 6 or 1)
  if self.inline + size > MOST_INLINE then return { file = self:spool(bytes) } end
  self.inline = self.inline + size
  if is_text then return { text = bytes } end
  return { base64 = base64.encode(bytes) }
end

-- types of the fields of a form; vim.NIL is userdata
local SIMPLE = { string = true, number = true, boolean = true, userdata = true }

-- whether a table has neither names nor gaps
local function is_list(values)
  local count = 0
  for _ in pairs(values) do count = count + 1 end
  return count == #values
end

--- Names and values as a list of pairs, where a list of values repeats the name; a list of pairs keeps the order.
local function pairs_of(fields, what)
  if type(fields) ~= "table" then error(("`%s` is a table of names and values"):format(what), 0) end
  local given, out = fields, {}
  if fields[1] == nil then
    given = {}
    for name, value in pairs(fields) do given[#given + 1] = { tostring(name), value } end
    table.sort(given, function(left, right) return left[1] < right[1] end)
  elseif not is_list(fields) then
    error(("`%s` has pairs, and beside these names or gaps: write each as a pair { name, value }"):format(what), 0)
  end
  for index, pair in ipairs(given) do
    if type(pair) ~= "table" then error(("`%s` has no pair { name, value } at %d"):format(what, index), 0) end
    local name, value = pair.name or pair[1], pair.value
    if value == nil then value = pair[2] end
    local values = type(value) == "table" and value or { value }
    for _, one in pairs(values) do
      if not is_list(values) or not SIMPLE[type(one)] then
        local kinds = "a string, a number, true, false, or a list of these"
        error(("the value of `%s` in `%s` must be %s"):format(tostring(name), what, kinds), 0)
      end
    end
    for _, one in ipairs(values) do out[#out + 1] = { name = name, value = one } end
  end
  return out
end

-- a number has all digits, which `tostring` cuts to 14
local function with_digits(value) return type(value) == "number" and json.encode(value) or value end

-- fields with numbers as text; nil if there are none
local function headers_of(headers)
  if type(headers) ~= "table" or headers[1] ~= nil then return headers end
  local out = {}
  for name, value in pairs(headers) do
    if type(value) == "table" then
      out[name] = vim.tbl_map(with_digits, value)
    else
      out[name] = with_digits(value)
    end
  end
  return next(out) ~= nil and out or nil
end

local function part_text(value)
  if type(value) == "boolean" then return value and "1" or "0" end
  return tostring(with_digits(value))
end

--- A file is its path, or { path = } or { data = } with `filename` and `type`.
function Spec:file_part(name, file)
  if type(file) == "string" then return { name = name, file = M.absolute(file) } end
  if type(file) ~= "table" then error(("files.%s must be a path, or a table with `path` or `data`"):format(name), 0) end
  local part = file.path and { file = M.absolute(file.path) } or file.data and self:content(file.data)
  if not part then error(("files.%s needs a `path` or `data`"):format(name), 0) end
  part.name, part.filename, part.mimeType = name, file.filename or (part.file and file.data and name) or nil, file.type
  return part
end

function Spec:multipart(form, files)
  if type(files) ~= "table" then error("`files` is a table of names and files", 0) end
  local parts = {}
  for _, pair in ipairs(pairs_of(form or {}, "form")) do
    if pair.value ~= vim.NIL then parts[#parts + 1] = { name = pair.name, text = part_text(pair.value) } end
  end
  if files[1] ~= nil then
    for _, file in ipairs(files) do parts[#parts + 1] = self:file_part(file.name or file[1], file[2] or file) end
    return { multipart = parts }
  end
  local names = {}
  for name in pairs(files) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do parts[#parts + 1] = self:file_part(name, files[name]) end
  return { multipart = parts }
end

function Spec:body()
  local own = self.own
  local given = {}
  for _, name in ipairs({ "body", "json", "form" }) do
    if own[name] ~= nil then given[#given + 1] = "`" .. name .. "`" end
  end
  if #given > 1 or (own.files and (own.body ~= nil or own.json ~= nil)) then
    if own.files then given[#given + 1] = "`files`" end
    error(("a request has one body: %s are given"):format(table.concat(given, " and ")), 0)
  end
  if own.files then return self:multipart(own.form, own.files) end
  if own.form ~= nil then return { form = pairs_of(own.form, "form") } end
  if type(own.body) == "string" then
    local body = self:content(own.body)
    if body.text == "" then return nil end
    -- the type does not depend on the length
    if body.file and own.defaultHeaders ~= false and json.is_utf8(own.body) then
      body.contentType = "text/plain; charset=utf-8"
    end
    return body
  end
  if own.json ~= nil then
    local text = json.encode(own.json)
    -- `json` of the service takes any value but null
    if text == "null" then return { text = text, contentType = "application/json" } end
    if #text > MOST_INLINE then return { file = self:spool(text), contentType = "application/json" } end
    return { json = own.json }
  end
  return own.body
end

function Spec:auth()
  local own = self.own
  if own.oauth then return { oauth = own.oauth } end
  if own.bearer then return { bearer = own.bearer } end
  local auth = own.auth
  if type(auth) == "string" then
    local user, password = auth:match("^([^:]*):(.*)$")
    return { basic = { username = user or auth, password = password or "" } }
  end
  if type(auth) == "table" and auth[1] then return { basic = { username = auth[1], password = auth[2] or "" } } end
  return auth
end

--- Functions under `callback`, at any depth, become names by which the service asks them.
function Spec:registered(value, depth)
  if type(value) ~= "table" or depth > 16 then return value end
  local out = setmetatable({}, getmetatable(value))
  for name, one in pairs(value) do
    if name == "callback" and type(one) == "function" then
      one = client.register(one)
      self.names[#self.names + 1] = one
    end
    out[name] = self:registered(one, depth + 1)
  end
  return out
end

-- options that are this client's own, or another spelling; all others go to the service, which refuses unknown ones
local OWN = {
  json = true, form = true, files = true, body = true, params = true, oauth = true, bearer = true, auth = true,
  progress = true, as = true, outpath = true, outbuf = true, retry = true, redirect = true, url = true, method = true,
  on_response = true,
}

--- The parameters of the service for a request; an error with a sentence for options that cannot be.
--- `keep` names options that the caller passes on as they are, such as `as` of a stream.
function M.build(method, url, opts, keep)
  if type(url) ~= "string" or url == "" then error("the URL must be a string that is not empty", 0) end
  if opts ~= nil and type(opts) ~= "table" then error("the options must be a table", 0) end
  opts = vim.tbl_extend("force", {}, opts or {})
  local spec = new(method and method:upper(), url, opts)
  -- for event streams, true asks for events as values; anything else is a body
  if keep and keep.json and type(opts.json) == "boolean" then spec.params.json, opts.json = opts.json, nil end
  local ok, why = pcall(function()
    local params = spec.params
    for name, value in pairs(opts) do
      if type(name) ~= "string" then error("the options must be a table of names and values", 0) end
      if not OWN[name] or (keep and keep[name] and name ~= "json") then
        params[name] = (name == "headers" or name == "query") and value or spec:registered(value, 1)
      end
    end
    if opts.params ~= nil then
      if opts.query ~= nil then error("`params` and `query` are the same: give one of them", 0) end
      params.query = opts.params
    end
    params.body = spec:body()
    params.auth = spec:auth()
    params.retry = type(opts.retry) == "number" and { limit = opts.retry } or spec:registered(opts.retry, 1)
    if type(opts.redirect) == "boolean" then
      params.redirect = opts.redirect and "follow" or "none"
    else
      params.redirect = spec:registered(opts.redirect, 1)
    end
    params.headers = headers_of(params.headers)
    for _, name in ipairs({ "progress", "on_response" }) do
      if opts[name] ~= nil and type(opts[name]) ~= "function" then
        error(("`%s` must be a function"):format(name), 0)
      end
    end
  end)
  if not ok then
    spec:release()
    error(why, 0)
  end
  return spec
end

return M
