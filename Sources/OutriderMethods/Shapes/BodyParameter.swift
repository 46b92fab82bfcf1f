// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// The body of a request: exactly one of `text`, `base64`, `json`, `form` and `file`.
struct BodyParameter: JSONDecodable {
    var body: BodySpec

    private static let kinds: [StaticString] = ["text", "base64", "json", "form", "file"]

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        let present = fields.present(Self.kinds)
        let text: String? = try fields.optional("text")
        let charset: String? = try fields.optional("charset")
        let base64: String? = try fields.optional("base64")
        let json = fields.value("json")
        let form: ValuesParameter? = try fields.optional("form")
        let file: String? = try fields.optional("file")
        let contentType: String? = try fields.optional("contentType")
        try fields.finish()
        guard present.count == 1 else {
            throw JSONComplaint("must have exactly one of text, base64, json, form and file")
        }
        if charset != nil && text == nil {
            throw JSONComplaint("charset goes with text only", at: JSONPointer(member: "charset"))
        }
        let content: BodySpec.Content
        if let text {
            content = .text(text, charset: charset ?? "utf-8")
        } else if let base64 {
            guard let bytes = Base64.decode(base64) else {
                throw JSONComplaint(
                    "base64 must be base64 with the standard alphabet and without line breaks",
                    at: JSONPointer(member: "base64"))
            }
            content = .bytes(bytes)
        } else if let json {
            content = .json(JSONText(written: JSONWriter.bytes(of: json)))
        } else if let form {
            content = .form(form.object)
        } else {
            content = .file(path: file ?? "")
        }
        body = BodySpec(content, contentType: contentType)
    }
}
