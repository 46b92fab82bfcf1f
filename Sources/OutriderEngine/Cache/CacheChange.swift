// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

/// A change that waits to be written.
enum CacheChange: Sendable {
    /// - Parameter since: the removals before the exchange began.
    case put(CachedEntry, since: RemovalCount.Mark?)
    case remove(CacheEntryID)
    /// Removes the entry unless it was stored after that moment, in milliseconds since 1970.
    case supersede(CacheEntryID, storedUpTo: Int64)
    case removeKey(CacheDigest)
    case purge(CachePurge)
    /// The rows that a removal has left to the next transactions.
    indirect case rest(CacheDatabase.Selection, of: CacheChange)
    /// The removals of a file that an ended process has left are on the disk: the file goes.
    case forget(String)
    /// No change: only the limits may have changed.
    case wake

    var isRemoval: Bool {
        switch self {
        case .put, .wake: false
        case .remove, .supersede, .removeKey, .purge, .rest, .forget: true
        }
    }

    /// Whether a removal that failed is tried again. The next lookup finds a damaged row again.
    var isLasting: Bool {
        if case .purge(.number) = self { return false }
        return isRemoval
    }

    /// Whether an entry that is still on the disk, in a row of that number, is about to be removed.
    func removes(_ entry: CachedEntry, row number: Int64) -> Bool {
        switch self {
        case .put, .wake, .forget: false
        case .remove(let id): entry.id == id
        case .supersede(let id, let moment): entry.id == id && entry.storedAt <= moment
        case .removeKey(let key): entry.id.key == key
        case .purge(let purge): purge.matches(entry)
        case .rest(let rows, let change): number <= rows.last ?? .max && change.removes(entry, row: number)
        }
    }

    /// The rows of a removal.
    var rows: CacheDatabase.Selection? {
        switch self {
        case .put, .wake, .forget: nil
        case .remove(let id): .init(id)
        case .supersede(let id, let moment): .init(id, storedUpTo: moment)
        case .removeKey(let key): .init("urlKey = ?1") { $0.bind(1, key.bytes) }
        case .purge(let purge): purge.rows
        case .rest(let rows, _): rows
        }
    }

    /// A line of a file of leftovers; nil for a change that is not a removal.
    var line: String? {
        switch self {
        case .put, .wake, .forget, .purge(.number): nil
        case .rest(_, let change): change.line
        case .remove(let id), .supersede(let id, _): "key \(HexText.encode(id.key.bytes))"
        case .removeKey(let key): "key \(HexText.encode(key.bytes))"
        case .purge(.all): "all"
        case .purge(.storedBefore(let moment)): "before \(moment)"
        case .purge(.prefix(let text)): "prefix \(HexText.encode(text.utf8))"
        case .purge(.tag(let tag)): "tag \(HexText.encode(tag.utf8))"
        }
    }

    /// The removal of a line. A line that is not understood removes every entry.
    init(line: some StringProtocol) {
        let words = line.split(separator: " ")
        let bytes = words.count == 2 ? Self.bytes(words[1]) : nil
        self =
            switch (words.first.map { String($0) }, bytes) {
            case ("key", let bytes?): CacheDigest(bytes: bytes).map { CacheChange.removeKey($0) } ?? .purge(.all)
            case ("prefix", let bytes?): .purge(.prefix(String(decoding: bytes, as: UTF8.self)))
            case ("tag", let bytes?): .purge(.tag(String(decoding: bytes, as: UTF8.self)))
            default: .purge(.all)
            }
        if words.count == 2, words[0] == "before", let moment = Int64(words[1]) {
            self = .purge(.storedBefore(moment))
        }
    }

    private static func bytes(_ hex: some StringProtocol) -> [UInt8]? {
        let digits = Array(hex.utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let byte = UInt8(String(decoding: digits[index..<index + 2], as: UTF8.self), radix: 16) else {
                return nil
            }
            bytes.append(byte)
        }
        return bytes
    }
}
