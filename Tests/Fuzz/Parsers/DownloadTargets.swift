// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Crypto

@testable import OutriderHTTP
@testable import OutriderJSON

/// Ranges: of a field, beside what the grammar writes; and those that are held, beside a set of places.
func ranges(_ input: Input) {
    switch ContentRange(parsing: input.text) {
    case .part(let range, let total)?:
        expect(
            range.lowerBound >= 0 && !range.isEmpty && range.upperBound <= total ?? .max, "\(range) of \(total ?? -1)")
        let written = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(total.map { "\($0)" } ?? "*")"
        expect(ContentRange(parsing: written) == .part(range, of: total), "read again it is no \(written)")
    case .none(let total)?: expect(total >= 0, "\(total) bytes")
    case nil: break
    }
    let numbers = input.bytes.prefix(3).map { Int64($0 % 32) }
    if numbers.count == 3 {
        let (first, last, total) = (numbers[0], numbers[1], numbers[2])
        let found = ContentRange(parsing: "bytes \(first)-\(last)/\(total)")
        let expected = first <= last && last < total ? ContentRange.part(first..<(last + 1), of: total) : nil
        expect(found == expected, "\(first)-\(last)/\(total) is \(String(describing: found))")
    }
    held(input.bytes)
    let digest = Checksum(.sha256, Array(SHA256.hash(data: input.bytes)))
    let field = "\(input.text), sha-256=:\(Base64.encode(digest.bytes)):"
    let found = Checksum.declared(HTTPFields([HTTPFields.Field("Repr-Digest", field)]), isWhole: false)
    expect(found.contains(digest), "the digest behind others is not found")
    for checksum in found {
        expect(Checksum(checksum.algorithm, text: checksum.text) == checksum, "read again it is not \(checksum)")
    }
}

/// Three bytes are a step: what happens, and between which of 64 places.
private func held(_ bytes: [UInt8]) {
    var (held, places) = (HeldRanges(), UInt64(0))
    for start in stride(from: 0, to: bytes.count - 2, by: 3).prefix(40) {
        let ends = [Int64(bytes[start + 1] % 65), Int64(bytes[start + 2] % 65)].sorted()
        let range = ends[0]..<ends[1]
        // a shift by all 64 bits gives zero
        let mask = (UInt64.max << UInt64(ends[0])) & ~(UInt64.max << UInt64(ends[1]))
        switch bytes[start] % 3 {
        case 0: (held, places) = (held.clipped(to: ends[1]), places & ~(UInt64.max << UInt64(ends[1])))
        case 1:
            held.remove(range)
            places &= ~mask
        default:
            held.insert(range)
            places |= mask
        }
        let isThere = (0..<64).map { places >> $0 & 1 == 1 }
        let starts = (0..<64).filter { isThere[$0] && ($0 == 0 || !isThere[$0 - 1]) }
        let ranges = starts.map { start in
            Int64(start)..<Int64(isThere[start...].firstIndex(of: false) ?? 64)
        }
        expect(held.ranges == ranges, "\(held.ranges), and not \(ranges)")
        expect(range.isEmpty || held.contains(range) == (places & mask == mask), "another verdict for \(range)")
        let missing = held.gaps(of: 64).reduce(0) { $0 + $1.count }
        expect(missing == 64 - places.nonzeroBitCount, "\(missing) are missing")
    }
}

/// The record of a download: written and read again, and never read after damage.
func journal(_ input: Input) {
    let line = Array(input.bytes.prefix { $0 != 0x0A })
    let digits = String(Input(bytes: line).hash, radix: 16)
    let text = line + Array("\n\(String(repeating: "0", count: 16 - digits.utf8.count))\(digits)\n".utf8)
    guard let journal = DownloadJournal(text) else { return }
    expect(journal.version.total.map { journal.held.end <= $0 } ?? true, "more is held than there is")
    expect(journal.held(size: 1000, boot: journal.boot).end <= 1000, "more is held than the file has")
    let written = journal.bytes
    // escapes may make it longer than it may be
    if written.count <= DownloadJournal.mostBytes {
        expect(DownloadJournal(written) == journal, "read again it is another one: \(written.shown)")
        expect(DownloadJournal(resumeData: journal.resumeData) == journal, "as resume data it is another one")
    }
    var damaged = text
    damaged[Int(input.hash % UInt64(text.count))] ^= 1 << UInt8(input.hash >> 60 & 7)
    expect(DownloadJournal(damaged) == nil, "it is read after damage: \(damaged.shown)")
}

/// A file of passwords; an entry in quotes is read again.
func netrc(_ input: Input) {
    let file = Netrc(input.text)
    _ = file.credential(host: "a.test")
    let words = input.text.split(separator: "\n", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
    guard words.count == 3 else { return }
    let entry = "machine \(quoted(words[0])) login \(quoted(words[1])) password \(quoted(words[2]))"
    let other = "machine \"\(words[0].utf8.count)-other\" login x password y"
    let coded = entry.unicodeScalars.reduce(into: "") { text, scalar in
        text += scalar == "\n" ? "\\n" : scalar == "\t" ? "\\t" : String(scalar)
    }
    for text in [entry, coded, "\(other)\n\(entry)", "\(entry) # machine\n\(other)", "\(entry)\ndefault login x"] {
        let found = Netrc(text).credential(host: words[0])
        expect(found == UserCredential(words[1], words[2]), "another user, or none, in \(text)")
    }
}
