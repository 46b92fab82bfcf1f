// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// Members of a RequestSpec of the contract without its URL: checked, and kept as they were written, so that they can cover
/// and be covered.
struct RequestOptions: JSONDecodable {
    var object: JSONObject

    init(json: JSONValue) throws(JSONComplaint) {
        object = try JSONObject(json: json)
        object.members.removeAll { $0.name == "_meta" }
        try Self.check(object)
    }

    /// Names that may stand among them are told as known, too.
    static func check(_ object: JSONObject, beside own: [String] = []) throws(JSONComplaint) {
        let isStray = object["url"] != nil
        var whole = object
        whole["url"] = .string("http://localhost/")
        if isStray { whole.members.append(.init("url ", .null)) }
        do throws(JSONComplaint) {
            _ = try RequestParameters(json: .object(whole))
        } catch {
            guard var known = error.known, error.pointer.names.count == 1 else { throw error }
            known.removeAll { $0 == "url" }
            throw JSONComplaint(
                isStray ? "unknown parameter url" : error.message,
                at: isStray ? JSONPointer(member: "url") : error.pointer, known: own + known)
        }
    }
}

/// A ParameterPlace of the contract, or the part of a request alone.
struct PlaceParameter: JSONDecodable {
    var place: ParameterPlace

    init(json: JSONValue) throws(JSONComplaint) {
        if case .string(let word) = json {
            guard let part = ParameterPlace.Part(rawValue: word) else {
                let words = ParameterPlace.Part.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
                throw JSONComplaint("must be one of \(words), or an object")
            }
            place = ParameterPlace(part)
            return
        }
        var fields = try JSONFields(json)
        let part: ParameterPlace.Part? = try fields.choice("in")
        place = ParameterPlace(.query)
        place.name = try fields.optional("name")
        place.style = try fields.choice("style")
        place.explodes = try fields.optional("explode")
        if let kind: ParameterPlace.BodyKind = try fields.choice("as") { place.kind = kind }
        place.contentType = try fields.optional("contentType")
        try fields.finish()
        place.part = try JSONFields.need("in", part)
    }
}

/// The same on the way out.
struct PlaceShape: ObjectShape {
    var place: ParameterPlace

    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("in", place.part.rawValue)
        writer.member("name", place.name)
        writer.member("style", place.style?.rawValue)
        writer.member("explode", place.explodes)
        if place.part == .body { writer.member("as", place.kind.rawValue) }
        writer.member("contentType", place.contentType)
    }
}
