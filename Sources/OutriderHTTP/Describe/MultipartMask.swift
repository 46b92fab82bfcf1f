// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Masks the parts of a multipart form whose names are secret.
enum MultipartMask {
    /// Nil if there is nothing to hide.
    ///
    /// - Parameter found: hears of each secret part, with its name.
    @discardableResult
    static func masked(
        _ bytes: [UInt8], _ boundary: String?, _ names: SecretNames,
        found: (String, ArraySlice<UInt8>) -> Void = { _, _ in }
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
            if let head = rest[..<end].firstRange(of: Array("\r\n\r\n".utf8)),
                let name = self.name(in: rest[..<head.lowerBound]), names.isSecret(parameter: name)
            {
                found(name, rest[head.upperBound..<end])
                result += rest[..<head.upperBound]
                result += SecretFields.mask.utf8
                isChanged = true
            } else {
                result += rest[..<end]
            }
            rest = rest[end...]
        }
        result += rest
        return isChanged ? result : nil
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
