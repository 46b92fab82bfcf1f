// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Parses JSON bytes to a JSONValue: a scan checks the text, then jansson builds a tree, which is copied and freed at
/// once. `JSONPlainReader` reads small texts of the usual form.
///
/// Strict: UTF-8 only, duplicate names refused, numbers beyond the range of a Double refused, and integers beyond Int64
/// unless the limits allow them; U+0000 allowed in strings but not in names.
package enum JSONParser {

    package static func parse(_ bytes: [UInt8], limits: JSONLimits = JSONLimits()) throws(JSONFailure) -> JSONValue {
        try bytes.withUnsafeBufferPointer { buffer throws(JSONFailure) in
            try parse(buffer, limits: limits)
        }
    }

    /// - Parameter secrets: finds, in a text that is valid, the ranges between the quotes of strings that become
    ///   `.secret`.
    package static func parse(
        _ bytes: UnsafeBufferPointer<UInt8>, limits: JSONLimits = JSONLimits(),
        secrets: ((UnsafeBufferPointer<UInt8>) -> [Range<Int>])? = nil
    ) throws(JSONFailure) -> JSONValue {
        let quick = JSONQuickScan(bytes, limits: limits, refusesCuts: true)
        let (cuts, members): ([Range<Int>], Int) =
            if let quick {
                ([], quick.members)
            } else {
                try JSONScanner.scanWhole(bytes, limits: limits, collects: true)
            }
        let secrets = secrets?(bytes) ?? []
        if quick != nil, secrets.isEmpty, let value = JSONPlainReader.value(bytes) { return value }
        return try built(bytes, cuts, members, secrets)
    }

    /// Parses without the quick scan and the plain reader, for comparison in tests.
    package static func parseWhole(
        _ bytes: UnsafeBufferPointer<UInt8>, limits: JSONLimits = JSONLimits()
    ) throws(JSONFailure) -> JSONValue {
        let (cuts, members) = try JSONScanner.scanWhole(bytes, limits: limits, collects: true)
        return try built(bytes, cuts, members, [])
    }

    private static func built(
        _ bytes: UnsafeBufferPointer<UInt8>, _ cuts: [Range<Int>], _ members: Int, _ secrets: [Range<Int>]
    ) throws(JSONFailure) -> JSONValue {
        if cuts.isEmpty, secrets.isEmpty { return try build(bytes, members: members) }
        var cutouts = JSONPlaceholders(of: bytes, at: cuts, secrets: secrets)
        let skeleton = cutouts.skeleton()
        return try skeleton.withUnsafeBufferPointer { skeleton throws(JSONFailure) in
            try build(skeleton, members: members, putBack: cutouts)
        }
    }

    private static func build(
        _ bytes: UnsafeBufferPointer<UInt8>, members: Int, putBack cutouts: JSONPlaceholders? = nil
    ) throws(JSONFailure) -> JSONValue {
        if let value = JSONTree.value(bytes, members: members, putBack: cutouts) { return value }
        do throws(JSONTree.Fault) {
            return try JSONTree.checkedValue(bytes, putBack: cutouts)
        } catch {
            let offset = cutouts?.offset(of: error.place) ?? error.place
            throw JSONFailure(
                reason: "\(error.reason) at byte \(offset)",
                offset: offset,
                pointer: JSONLocator.pointer(at: max(0, error.place - 1), in: bytes)
            )
        }
    }
}
