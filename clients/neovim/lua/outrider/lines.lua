-- SPDX-License-Identifier: Apache-2.0
-- SPDX-FileCopyrightText: The Outrider authors
--
-- Cuts what arrives into lines: one message each.
local Lines = {}
Lines.__index = Lines

function Lines.new() return setmetatable({ pieces = {} }, Lines) end

--- Calls `take` with each line that is complete; keeps the rest. Costs no more than the bytes, however they are cut.
function Lines:feed(data, take)
  local from = 1
  while true do
    local stop = data:find("\n", from, true)
    if not stop then break end
    local line = data:sub(from, stop - 1)
    if #self.pieces > 0 then
      self.pieces[#self.pieces + 1] = line
      line = table.concat(self.pieces)
      self.pieces = {}
    end
    from = stop + 1
    if line:find("%S") then take(line) end
  end
  if from <= #data then self.pieces[#self.pieces + 1] = data:sub(from) end
end

return Lines
