// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Room for JSON values: whether several of them together are small, found without looking at more than fits.
package struct JSONRoom {
    private var values: Int
    private var bytes: Int

    package init(values: Int, bytes: Int) {
        self.values = values
        self.bytes = bytes
    }

    /// Takes the room of a value with all that is in it. False once there is too little.
    package mutating func holds(_ value: JSONValue) -> Bool {
        values -= 1
        guard values >= 0 else { return false }
        switch value {
        case .null, .bool, .integer, .real, .secret: return true
        case .written(let text), .string(let text): return holds(text)
        case .array(let array):
            for element in array where !holds(element) { return false }
            return true
        case .object(let object):
            for member in object.members where !holds(member.name) || !holds(member.value) { return false }
            return true
        }
    }

    private mutating func holds(_ text: String) -> Bool {
        bytes -= text.utf8.count
        return bytes >= 0
    }
}
