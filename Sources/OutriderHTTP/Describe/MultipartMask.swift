// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Masks the parts of a multipart form whose names are secret, and secret members in parts that are JSON.
enum MultipartMask {
    /// Nil if there is nothing to hide.
    ///
    /// - Parameters:
    ///   - found: hears of each secret part, with its name.
    ///   - foundJSON: hears of each other part that is JSON.
    @discardableResult
    static func masked(
        _ bytes: [UInt8], _ boundary: String?, _ names: SecretNames,
        found: (String, ArraySlice<UInt8>) -> Void = { _, _ in }, foundJSON: (ArraySlice<UInt8>) -> Void = { _ in }
    ) -> [UInt8]? {
        guard let boundary, !boundary.isEmpty else { return nil }
        let mark = Array("--\(boundary)".utf8)
        let border = Array("\r\n".utf8) + mark
        var result: [UInt8] = []
        var isChanged = false
        var rest = bytes[...]
        while let start = rest.firstRange(of: mark) {
            result += rest[..<start.upperBound]
            rest = rest[start.upperBound...]
            // each byte is looked at once: a part without a border ends with the body
            let end = rest.firstRange(of: border)?.lowerBound ?? rest.endIndex
            let part = rest[..<end]
            let gap = part.firstRange(of: Array("\r\n\r\n".utf8))
            let head = gap.map { part[..<$0.lowerBound] } ?? []
            let content = gap.map { part[$0.upperBound...] } ?? part
            if let name = self.name(in: head), names.isSecret(parameter: name) {
                found(name, content)
                result += part[..<content.startIndex]
                result += SecretFields.mask.utf8
                isChanged = true
            } else if isJSON(head), let masked = JSONRedaction.masked(Array(content), names) {
                foundJSON(content)
                result += part[..<content.startIndex]
                result += masked
                isChanged = true
            } else {
                result += part
            }
            rest = rest[end...]
        }
        result += rest
        return isChanged ? result : nil
    }

    private static func isJSON(_ head: ArraySlice<UInt8>) -> Bool {
        let lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n")
        let types = lines.compactMap { line -> MediaType? in
            guard let colon = line.firstIndex(of: ":"), HTTPFields.same(String(line[..<colon]), "Content-Type") else {
                return nil
            }
            return MediaType(parsing: String(FieldRules.trimmed(line[line.index(after: colon)...])))
        }
        return types.contains { $0.subtype == "json" || $0.subtype.hasSuffix("+json") }
    }

    private static func name(in head: ArraySlice<UInt8>) -> String? {
        let text = String(decoding: head, as: UTF8.self)
        for part in text.split(whereSeparator: { $0 == ";" || $0 == "\r\n" }) {
            let part = FieldRules.trimmed(part)
            guard part.lowercased().hasPrefix("name=") else { continue }
            return String(part.dropFirst(5)).filter { $0 != "\"" }
        }
        return nil
    }
}

extension ArraySlice<UInt8> {
    /// The first place of some bytes.
    func firstRange(of wanted: [UInt8]) -> Range<Int>? {
        guard let first = wanted.first, count >= wanted.count else { return nil }
        var index = startIndex
        let last = endIndex - wanted.count
        while index <= last {
            if self[index] == first, self[index...].starts(with: wanted) { return index..<index + wanted.count }
            index += 1
        }
        return nil
    }
}
