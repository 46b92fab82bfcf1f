// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// A client's reference to a session: its handle, its name, or `default`.
struct SessionReference: JSONDecodable, Sendable {
    static let defaultName = "default"

    let text: String

    var isDefault: Bool { text == Self.defaultName }

    init(json: JSONValue) throws(JSONComplaint) {
        text = try String(json: json)
        if text.isEmpty { throw JSONComplaint("must not be empty") }
    }
}
