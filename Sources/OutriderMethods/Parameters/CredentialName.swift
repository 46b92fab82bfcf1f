// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// A client's reference to a credential: its name, or the handle of an unnamed credential.
struct CredentialName: JSONDecodable, Sendable {
    let text: String

    /// The longest name, in bytes of UTF-8.
    static let longest = 128

    init(json: JSONValue) throws(JSONComplaint) {
        text = try String(json: json)
        if let fault = Self.fault(in: text) { throw JSONComplaint(fault) }
    }

    static func fault(in name: String) -> String? {
        if name.isEmpty || name.utf8.count > longest { return "must have 1 to \(longest) bytes" }
        return name.utf8.contains { $0 < 0x20 || $0 == 0x7F } ? "must not contain control characters" : nil
    }
}
