// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// The body of a request: exactly one of `text`, `base64`, `json`, `form`, `file`, `multipart` and `stream`.
struct BodyParameter: JSONDecodable {
    var body: BodySpec

    private static let kinds: [StaticString] = ["text", "base64", "json", "form", "file", "multipart", "stream"]

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        let present = fields.present(Self.kinds)
        let text: String? = try fields.optional("text")
        let charset: String? = try fields.optional("charset")
        let base64: String? = try fields.optional("base64")
        let json = fields.value("json")
        let form: ValuesParameter? = try fields.optional("form")
        let file: String? = try fields.optional("file")
        let multipart: MultipartParameter? = try fields.optional("multipart")
        let stream: String? = try fields.optional("stream")
        let length = try fields.integer("length", in: 0...9_007_199_254_740_992)
        let contentType: String? = try fields.optional("contentType")
        try fields.finish()
        guard present.count == 1 else {
            throw JSONComplaint("must have exactly one of text, base64, json, form, file, multipart and stream")
        }
        if charset != nil && text == nil {
            throw JSONComplaint("charset goes with text only", at: JSONPointer(member: "charset"))
        }
        if length != nil && stream == nil {
            throw JSONComplaint("length goes with stream only", at: JSONPointer(member: "length"))
        }
        let content: BodySpec.Content
        if let text {
            content = .text(text, charset: charset ?? BodySpec.charset(of: contentType) ?? "utf-8")
        } else if let base64 {
            content = .bytes(try Base64Parameter.bytes(base64))
        } else if let json {
            content = .json(JSONText(written: JSONWriter.bytes(of: json)))
        } else if let form {
            content = .form(form.object)
        } else if let multipart {
            content = .multipart(multipart.under("/body/multipart"))
        } else if let stream {
            content = .stream(stream, nil, length: length.map { Int64($0) })  // safe: an Int is an Int64
        } else {
            content = .file(path: file ?? "")
        }
        body = BodySpec(content, contentType: contentType)
    }
}

/// The compression of a body: a coding, or an object with options.
struct CompressParameter: JSONDecodable {
    var compression: RequestCompression

    init(json: JSONValue) throws(JSONComplaint) {
        if let word = json.string {
            guard let coding = BodyCoding(rawValue: word) else {
                throw JSONComplaint(
                    "must be \"br\", \"deflate\", \"gzip\", \"zstd\" or an object, not \(FieldRules.shown(word))")
            }
            compression = RequestCompression(coding)
            return
        }
        guard json.object != nil else {
            throw JSONComplaint("must be \"br\", \"deflate\", \"gzip\", \"zstd\" or an object, not \(json.typeName)")
        }
        var fields = try JSONFields(json)
        let coding: BodyCoding? = try fields.choice("coding")
        let duplicate: RequestCompression.Duplicate? = try fields.choice("duplicate")
        let minimum = try fields.integer("minimum", in: 0...9_007_199_254_740_992)
        try fields.finish()
        compression = RequestCompression(try JSONFields.need("coding", coding), duplicate: duplicate ?? .error)
        if let minimum { compression.minimumBytes = Int64(minimum) }  // safe: an Int is an Int64
    }
}
