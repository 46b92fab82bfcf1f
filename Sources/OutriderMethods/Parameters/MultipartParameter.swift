// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// A form of several parts: a list of parts, or an object with a list and options.
struct MultipartParameter: JSONDecodable {
    /// The form, with pointers relative to this value.
    var form: MultipartForm

    init(json: JSONValue) throws(JSONComplaint) {
        if json.array != nil {
            self.init(try [PartParameter](json: json), nil, nil)
            form.place = ""
            return
        }
        guard json.object != nil else {
            throw JSONComplaint("must be a list of parts, or an object with parts, not \(json.typeName)")
        }
        var fields = try JSONFields(json)
        let parts: [PartParameter]? = try fields.optional("parts")
        let boundary: String? = try fields.optional("boundary")
        let escaping: MultipartForm.Escaping? = try fields.choice("escape")
        try fields.finish()
        self.init(try JSONFields.need("parts", parts), boundary, escaping)
    }

    init(_ parts: [PartParameter], _ boundary: String?, _ escaping: MultipartForm.Escaping?) {
        form = MultipartForm(
            parts.map(\.part), boundary: boundary ?? Self.freshBoundary, place: "/parts")
        if boundary != nil { form.boundaryPlace = "/boundary" }
        if let escaping { form.escaping = escaping }
    }

    private static var freshBoundary: String { MultipartForm.boundary(random: RandomPool.pair().0) }

    /// The form, with pointers relative to an outer value.
    func under(_ place: String) -> MultipartForm {
        var form = form
        form.place = place + form.place
        form.boundaryPlace = form.boundaryPlace.map { place + $0 }
        return form
    }
}

/// A part: exactly one of `text`, `base64`, `json`, `file` and `stream`, with a name.
struct PartParameter: JSONDecodable {
    var part: MultipartForm.Part

    private static let kinds: [StaticString] = ["text", "base64", "json", "file", "stream"]

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        let present = fields.present(Self.kinds)
        let name: String? = try fields.optional("name")
        let filename: String? = try fields.optional("filename")
        let mimeType: String? = try fields.optional("mimeType")
        let headers: FieldsParameter? = try fields.optional("headers")
        let text: String? = try fields.optional("text")
        let base64: String? = try fields.optional("base64")
        let json = fields.value("json")
        let file: String? = try fields.optional("file")
        let stream: String? = try fields.optional("stream")
        let length = try fields.integer("length", in: 0...9_007_199_254_740_992)
        try fields.finish()
        guard present.count == 1 else {
            throw JSONComplaint("must have exactly one of text, base64, json, file and stream")
        }
        if length != nil && stream == nil {
            throw JSONComplaint("length goes with stream only", at: JSONPointer(member: "length"))
        }
        let content: MultipartForm.Part.Content
        if let text {
            content = .bytes(Array(text.utf8))
        } else if let base64 {
            content = .bytes(try Base64Parameter.bytes(base64))
        } else if let json {
            content = .bytes(JSONWriter.bytes(of: json))
        } else if let stream {
            content = .stream(stream, nil, length: length.map { Int64($0) })  // safe: an Int is an Int64
        } else {
            content = .file(path: file ?? "")
        }
        part = MultipartForm.Part(try JSONFields.need("name", name), content, key: present[0].description)
        part.filename = filename
        part.mimeType = mimeType
        if json != nil { part.impliedType = "application/json" }
        if let headers { (part.fields, part.listsFields) = (headers.fields, headers.isList) }
    }
}
