// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderMethods

/// A method of the contract, found without reading the rest: a shell waits for this at every call, and the whole
/// takes milliseconds.
enum ContractExcerpt {
    /// Nil if the method is not found this way, which does not mean that there is none.
    static func method(_ name: String) -> JSONObject? {
        let document = OpenRPC.document
        // The assembler writes the methods first, and each begins with its name and its summary.
        guard let end = OpenRPC.place(of: "\n \"components\":{"),
            let start = OpenRPC.place(of: "{\n   \"name\":\"\(name)\",\n   \"summary\":"), start < end
        else { return nil }
        return try? JSONParser.parse(Array(document[start..<objectEnd(document, from: start)])).object
    }

    /// Behind the brace that closes the object.
    private static func objectEnd(_ text: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
        var depth = 0
        var isInString = false
        var index = start
        while index < text.count {
            switch text[index] {
            case UInt8(ascii: "\\"): index += 1
            case UInt8(ascii: "\""): isInString.toggle()
            case UInt8(ascii: "{") where !isInString: depth += 1
            case UInt8(ascii: "}") where !isInString: depth -= 1
            default: break
            }
            index += 1
            if depth == 0 { break }
        }
        return min(index, text.count)
    }
}
