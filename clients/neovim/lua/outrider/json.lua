-- SPDX-License-Identifier: Apache-2.0
-- SPDX-FileCopyrightText: The Outrider authors
--
-- JSON, as Neovim has it: vim.NIL is null, vim.empty_dict() is {}, an empty table is [].
-- vim.json.encode writes 14 digits of a number and passes invalid UTF-8 on, so values are written here.
local M = {}

M.null = vim.NIL
local dictionary = getmetatable(vim.empty_dict())
-- deeper values are refused by the service, too
local MOST_DEPTH = 128

local function tail(byte, low, high) return byte and byte >= (low or 0x80) and byte <= (high or 0xBF) end

--- Whether a string is UTF-8 (RFC 3629): no surrogates, no longer forms than needed.
function M.is_utf8(text)
  local index = 1
  while true do
    index = text:find("[\128-\255]", index)
    if not index then return true end
    local a, b, c, d = text:byte(index, index + 3)
    if a >= 0xC2 and a <= 0xDF and tail(b) then
      index = index + 2
    elseif a >= 0xE0 and a <= 0xEF and tail(b, a == 0xE0 and 0xA0 or nil, a == 0xED and 0x9F or nil) and tail(c) then
      index = index + 3
    elseif a >= 0xF0 and a <= 0xF4 and tail(b, a == 0xF0 and 0x90 or nil, a == 0xF4 and 0x8F or nil)
      and tail(c) and tail(d) then
      index = index + 4
    else
      return false
    end
  end
end

local function fail(at, why) error(("cannot encode %s as JSON: %s"):format(at == "" and "the value" or at, why), 0) end

local function number(value, at)
  if value ~= value or value == math.huge or value == -math.huge then fail(at, "JSON has no " .. tostring(value)) end
  if value == math.floor(value) and math.abs(value) < 2 ^ 53 then return ("%d"):format(value) end
  local short = ("%.15g"):format(value)
  return tonumber(short) == value and short or ("%.17g"):format(value)
end

local function string_(value, at)
  if not M.is_utf8(value) then fail(at, "the string is not UTF-8 (send such bytes with `body`)") end
  return vim.json.encode(value)
end

local write

local function list(value, count, at, depth)
  local out = {}
  for index = 1, count do
    if value[index] == nil then fail(at, ("item %d is nil (use vim.NIL for null)"):format(index)) end
    out[index] = write(value[index], ("%s/%d"):format(at, index - 1), depth)
  end
  return "[" .. table.concat(out, ",") .. "]"
end

local function object(value, at, depth)
  local names = {}
  for name in pairs(value) do
    if type(name) ~= "string" then fail(at, "the table mixes names and positions") end
    names[#names + 1] = name
  end
  table.sort(names)
  local out = {}
  for index, name in ipairs(names) do
    local place = at .. "/" .. name
    out[index] = string_(name, place) .. ":" .. write(value[name], place, depth)
  end
  return "{" .. table.concat(out, ",") .. "}"
end

--- Members are written in the order of their names, numbers with all their digits.
function write(value, at, depth)
  local kind = type(value)
  if value == vim.NIL then return "null" end
  if kind == "string" then return string_(value, at) end
  if kind == "number" then return number(value, at) end
  if kind == "boolean" then return tostring(value) end
  if kind ~= "table" then fail(at, ("a %s has no form in JSON"):format(kind)) end
  if depth >= MOST_DEPTH then fail(at, ("it is nested more than %d deep"):format(MOST_DEPTH)) end
  if next(value) == nil then return getmetatable(value) == dictionary and "{}" or "[]" end
  local highest = 0
  for name in pairs(value) do
    if type(name) == "number" and name > highest and name == math.floor(name) then highest = name end
  end
  if highest > 0 and value[1] ~= nil and highest < 2 ^ 31 then
    for name in pairs(value) do
      if type(name) ~= "number" then fail(at, "the table mixes names and positions") end
    end
    return list(value, highest, at, depth + 1)
  end
  return object(value, at, depth + 1)
end

--- The JSON text of a value; an error that names the place of what JSON cannot hold.
function M.encode(value) return write(value, "", 0) end

--- The value of a JSON text, with or without a byte order mark; an error if the text is not JSON.
function M.decode(text) return vim.json.decode(text:sub(1, 3) == "\239\187\191" and text:sub(4) or text) end

--- The same value; an empty table, which is written as {}.
function M.as_object(value)
  return type(value) == "table" and next(value) == nil and vim.empty_dict() or value
end

return M
