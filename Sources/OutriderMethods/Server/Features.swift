// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// The features of this version, by name: the names of the contract's `x-outrider-features`.
package struct Features: ObjectShape {
    static func contains(_ name: String) -> Bool { names.contains { $0.description == name } }

    package func encodeMembers(to writer: inout JSONWriter) {
        for name in Self.names { writer.member(name, true) }
    }
}

/// The name and version of a program.
struct SoftwareInfo: ObjectShape, JSONDecodable {
    var name: String
    var version: String?

    init(name: String, version: String) {
        self.name = name
        self.version = version
    }

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        let name: String? = try fields.optional("name")
        version = try fields.optional("version")
        try fields.finish()
        self.name = try JSONFields.need("name", name)
    }

    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("name", name)
        writer.member("version", version)
    }
}
