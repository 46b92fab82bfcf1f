// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import NIOCore

@testable import OutriderEngine
@testable import OutriderHTTP

private typealias Stored = (head: CachedHead, vary: [String], tags: [String], userInfo: String?)

private func decoded(_ bytes: some Collection<UInt8>) -> Stored? {
    Array(bytes).withUnsafeBytes { CachedHeadCoding.decode($0) }
}

/// The head of a stored response is the same when written and read again, and a part of the bytes has no head.
func heads(_ input: Input) {
    guard let found = decoded(input.bytes) else { return }
    let now = Int64(bitPattern: input.hash)
    expect(found.head.shown(at: now).all("Age").count == 1, "several ages")
    _ = found.head.isFresh(at: now)
    if let part = found.head.part {
        expect(found.head.joined(part).part == (part.isWhole ? nil : part), "another part: \(part)")
    }
    let news = found.head.updated(by: [HTTPFields.Field("ETag", "\"new\"")], requestedAt: now, respondedAt: now)
    expect(news.etag == "\"new\"" && news.fields.all("ETag").count == 1, "updated: \(news)")
    expect(decoded(input.bytes.dropLast(1 + Int(input.hash % UInt64(input.bytes.count)))) == nil, "a part is a head")
    expect(decoded(input.bytes + [0]) == nil, "a head with a byte behind it")
    let encode = { (stored: Stored) in
        CachedHeadCoding.encode(stored.head, vary: stored.vary, tags: stored.tags, userInfo: stored.userInfo)
    }
    guard let written = encode(found) else { return }
    guard let again = decoded(written) else { return expect(false, "what is written is no head") }
    expect(again == found, "read again: \(again), and not \(found)")
    // bytes that are no text, and two of the numbers, have one form only
    let texts =
        [found.head.reason, found.head.version, found.userInfo ?? ""] + found.vary + found.tags
        + found.head.fields.list.flatMap { [$0.name, $0.value] }
    let isText = !texts.contains { $0.unicodeScalars.contains("\u{FFFD}") }
    if isText, (found.head.fallback ?? -1) == word(input.bytes, 4), [0, 1].contains(word(input.bytes, 5)) {
        expect(written == input.bytes, "written it is \(written), and not \(input.bytes)")
    }
}

private func == (one: Stored, other: Stored) -> Bool {
    one.head == other.head && one.vary == other.vary && one.tags == other.tags && one.userInfo == other.userInfo
}

private func word(_ bytes: [UInt8], _ index: Int) -> Int64 {
    Int64(bitPattern: bytes.dropFirst(8 * index).prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
}

// MARK: rows

/// A database in files without names, with a single transaction that never ends.
nonisolated(unsafe) private let database: CacheDatabase? = {
    var template = Array("/tmp/fuzz-rows-XXXXXX".utf8CString)
    guard let folder = mkdtemp(&template).map({ String(cString: $0) }) else { return nil }
    let database = try? CacheDatabase("\(folder)/cache.db", isReadOnly: false)
    try? database?.database.run("BEGIN IMMEDIATE")
    for name in DirectoryNames.all(in: folder) { unlink("\(folder)/\(name)") }
    rmdir(folder)
    return database
}()

/// CRC-32C, bit by bit.
private func check(_ bytes: [UInt8]) -> Int64 {
    let value = bytes.reduce(UInt32.max) { value, byte in
        (0..<8).reduce(value ^ UInt32(byte)) { value, _ in value >> 1 ^ (value & 1 == 1 ? 0x82F6_3B78 : 0) }
    }
    return Int64(~value)
}

/// The columns of a row whose bytes a checksum covers, in the order of that checksum, and the body.
private enum Column: Int, CaseIterable { case key, principal, variant, url, head, body }

/// Compares a stored row with the head inside, and damages a single bit, after which no response may be read. The input:
/// two bytes with the kind of damage, two with the length of the head, the head, and a body or the name of a file.
func rows(_ input: Input) {
    guard input.bytes.count >= 4, input.bytes.count <= 8192, let database else { return }
    let (what, place) = (input.bytes[0], Int(input.bytes[1]))
    let rest = input.bytes.dropFirst(4)
    let size = min(Int(input.bytes[2]) << 8 | Int(input.bytes[3]), rest.count)
    let (head, body) = (Array(rest.prefix(size)), Array(rest.dropFirst(size)))
    let id = CacheEntryID(key: CacheDigest(high: 1, low: 2), principal: .empty, variant: CacheDigest(high: 3, low: 4))
    var columns = [id.key.bytes, id.principal.bytes, id.variant.bytes, Array("http://a.test/x".utf8), head, body]
    let intact = columns
    let (hasFile, isShort) = (what & 0x80 != 0, what & 0x87 == 7)
    let sums = (check(columns[..<5].flatMap { $0 }), check(body))
    let damaged = Column(rawValue: Int(what & 7))
    if let damaged, !columns[damaged.rawValue].isEmpty, !(hasFile && damaged == .body) {
        columns[damaged.rawValue][place % columns[damaged.rawValue].count] ^= 1 << (what >> 4 & 7)
    }
    guard let key = CacheDigest(bytes: columns[0]), let principal = CacheDigest(bytes: columns[1]) else { return }
    let bodySize = hasFile ? 7 : body.count + (isShort ? 1 : 0)
    store(columns, file: hasFile, bodySize: Int64(bodySize), sums, in: database)
    guard let row = try? database.find(key, principal, selects: { _, _ in true }).first else {
        return expect(false, "the row is gone")
    }
    let isName = body.count == 16 && body.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    let stored = columns != intact || isShort || hasFile && !isName ? nil : decoded(head)
    expect((row.entry != nil) == (stored != nil), "what: \(what), an entry or none: \(String(describing: row.entry))")
    guard let entry = row.entry, let stored else { return }
    expect(entry.head == stored.head && entry.vary == stored.vary && entry.tags == stored.tags, "another head")
    expect(entry.id == id && entry.url == "http://a.test/x" && entry.userInfo == stored.userInfo, "another entry")
    switch entry.body {
    case .memory(let bytes): expect(!hasFile && bytes == ByteBuffer(bytes: body), "another body")
    case .file(let name, let size): expect(hasFile && Array(name.utf8) == body && size == 7, "another file")
    }
}

private func store(
    _ columns: [[UInt8]], file: Bool, bodySize: Int64, _ sums: (head: Int64, body: Int64), in database: CacheDatabase
) {
    do {
        try database.database.run("DELETE FROM entry")
        let statement = try database.database.prepare(
            """
            INSERT INTO entry (id, urlKey, principal, variant, url, head, storedAt, usedHour, size, bodySize, checksum,
            bodyCheck, body, file) VALUES (1, ?1, ?2, ?3, CAST(?4 AS TEXT), ?5, 5, 6, 100, ?6, ?7, ?8, ?9, ?10)
            """)
        for index in 0..<5 { statement.bind(CInt(index + 1), columns[index]) }
        statement.bind(6, bodySize)
        statement.bind(7, sums.head)
        statement.bind(8, sums.body)
        if file {
            statement.bind(10, String(decoding: columns[5], as: UTF8.self))
        } else {
            statement.bind(9, columns[5])
        }
        while try statement.step() {}
    } catch {
        expect(false, "\(error)")
    }
}
