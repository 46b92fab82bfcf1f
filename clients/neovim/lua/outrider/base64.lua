-- SPDX-License-Identifier: Apache-2.0
-- SPDX-FileCopyrightText: The Outrider authors
--
-- Base64 (RFC 4648 section 4): vim.base64 where Neovim has it (0.10), else Lua.
local M = {}

local alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
local letters, values = {}, {}
for index = 1, 64 do
  letters[index - 1] = alphabet:sub(index, index)
  values[alphabet:byte(index)] = index - 1
end
local floor, char = math.floor, string.char

--- Bytes as base64.
function M.encode_plain(bytes)
  local out, count = {}, 0
  for index = 1, #bytes, 3 do
    local a, b, c = bytes:byte(index, index + 2)
    local word = a * 65536 + (b or 0) * 256 + (c or 0)
    count = count + 1
    out[count] = letters[floor(word / 262144)]
      .. letters[floor(word / 4096) % 64]
      .. (b and letters[floor(word / 64) % 64] or "=")
      .. (c and letters[word % 64] or "=")
  end
  return table.concat(out)
end

--- Base64 as bytes; an error for a text that is not base64.
function M.decode_plain(text)
  if #text % 4 ~= 0 then error("the base64 text has a length that is not a multiple of 4", 0) end
  local out, count = {}, 0
  for index = 1, #text, 4 do
    local a, b, c, d = text:byte(index, index + 3)
    local last = index + 4 > #text
    local w, x, y, z = values[a], values[b], values[c], values[d]
    local padding = (last and d == 61) and ((c == 61) and 2 or 1) or 0
    if not (w and x and (y or padding == 2) and (z or padding > 0)) then
      error("the base64 text holds a character that is not base64", 0)
    end
    local word = w * 262144 + x * 4096 + (y or 0) * 64 + (z or 0)
    local first, second, third = floor(word / 65536), floor(word / 256) % 256, word % 256
    count = count + 1
    out[count] = padding == 2 and char(first) or padding == 1 and char(first, second) or char(first, second, third)
  end
  return table.concat(out)
end

M.encode = vim.base64 and vim.base64.encode or M.encode_plain
M.decode = vim.base64 and vim.base64.decode or M.decode_plain

return M
