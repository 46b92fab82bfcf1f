// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// A member called base64.
enum Base64Parameter {
    static func bytes(_ base64: String) throws(JSONComplaint) -> [UInt8] {
        if let bytes = Base64.decode(base64) { return bytes }
        throw JSONComplaint(
            "base64 must be base64 with the standard alphabet and without line breaks",
            at: JSONPointer(member: "base64"))
    }
}
