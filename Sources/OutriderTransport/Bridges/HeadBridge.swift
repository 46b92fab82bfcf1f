// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOHTTP1
import OutriderHTTP

extension ResponseHead {
    /// - Parameter texts: the phrase and the values that the server sent; nil for those of the parser.
    init(_ head: HTTPResponseHead, texts: HeadTexts.Head? = nil) {
        var fields = HTTPFields(head.headers)
        texts?.correct(&fields)
        self.init(
            // safe: a status always fits
            status: Int(clamping: head.status.code), reason: texts?.phrase ?? head.status.reasonPhrase,
            version: HTTPVersion(head.version.major, head.version.minor), fields: fields)
    }
}

extension HTTPFields {
    init(_ headers: HTTPHeaders) {
        var list: [Field] = []
        list.reserveCapacity(headers.count)
        for (name, value) in headers { list.append(Field(name, Self.withoutSpace(value))) }
        self.init(list)
    }

    /// The parser leaves white space behind a value, which is no part of it (RFC 9110 section 5.5).
    private static func withoutSpace(_ value: String) -> String {
        guard let last = value.utf8.last, last == 0x20 || last == 0x09 else { return value }
        return String(FieldRules.trimmed(value[...]))
    }
}
