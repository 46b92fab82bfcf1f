// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// The record of an unfinished download, from which a later download resumes, even after a crash: a line of JSON, and
/// the checksum of that line. In base64, the same text is the client's resume data.
package struct DownloadJournal: Sendable, Equatable {
    /// The URL after redirects.
    package var url: String
    /// Stands for the path of the requested URL, before redirects; nil in journals of earlier versions.
    package var asked: String?
    /// The origin of the requested URL, before redirects; nil in journals of earlier versions.
    package var home: String?
    /// The file with the received bytes, an absolute path.
    package var partial: String
    /// The destination; nil for a private file.
    package var target: String?
    package var replaces = false
    package var version = ResourceVersion()
    /// Bytes that are synced to disk.
    package var held = HeldRanges()
    /// Whether the file is written from the first byte to the last, so that its size tells the received bytes.
    package var isSequential = true
    /// The boot of the machine during which the journal was written. Until the next boot, later writes to the file are
    /// safe, too.
    package var boot: String

    package init(url: String, partial: String, boot: String) {
        self.url = url
        self.partial = partial
        self.boot = boot
    }

    private static let format: Int64 = 1
    /// The longest accepted text, in bytes.
    package static let mostBytes = 64 << 10

    /// Stands for malformed resume data: the download ends with failure 1802.
    package static let unusable = DownloadJournal(url: "http://localhost/", partial: "/", boot: "")

    // MARK: writing

    package var bytes: [UInt8] {
        let line = JSONWriter.bytes(of: self)
        return line + [UInt8(ascii: "\n")] + Array(Self.checksum(line[...]).utf8) + [UInt8(ascii: "\n")]
    }

    /// The resume data for a client.
    package var resumeData: String { Base64.encode(bytes) }

    /// The ranges of the partial file that are safe to keep, given the file's size. In the same boot: all bytes of a
    /// sequential download; after a reboot: only the ranges synced to disk.
    package func held(size: Int64, boot now: String) -> HeldRanges {
        let known = held.clipped(to: size)
        guard boot == now, !boot.isEmpty, isSequential, known.isPrefix else { return known }
        return HeldRanges(first: min(size, version.total ?? size))
    }

    // MARK: reading

    /// Nil if damaged, foreign, or written by a later version.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count <= Self.mostBytes, let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        let rest = bytes[(end + 1)...]
        guard rest.elementsEqual((Self.checksum(bytes[..<end]) + "\n").utf8) else { return nil }
        guard let object = (try? JSONParser.parse(Array(bytes[..<end])))?.object else { return nil }
        guard object["format"]?.integer == Self.format, let url = object["url"]?.string,
            let partial = object["partial"]?.string, partial.hasPrefix("/"), !partial.utf8.contains(0),
            let boot = object["boot"]?.string, let held = Self.ranges(object["held"])
        else { return nil }
        self.init(url: url, partial: partial, boot: boot)
        asked = object["asked"]?.string
        home = object["home"]?.string
        target = object["target"]?.string
        replaces = object["replaces"] == .bool(true)
        isSequential = object["sequential"] != .bool(false)
        self.held = held
        version = ResourceVersion(
            total: object["total"]?.integer, etag: object["etag"]?.string,
            lastModified: object["lastModified"]?.string, coding: object["coding"]?.string)
        if let total = version.total, total < held.end { return nil }
    }

    package init?(resumeData: String) {
        guard let bytes = Base64.decode(resumeData) else { return nil }
        self.init(bytes)
    }

    /// Stands for the path of a URL. The query does not count: a signed link has another one each time.
    package static func mark(of url: HTTPURL) -> String {
        let path = url.target.utf8.prefix { $0 != UInt8(ascii: "?") }
        return checksum(Array(path)[...])
    }

    private static func ranges(_ value: JSONValue?) -> HeldRanges? {
        guard let pairs = value?.array, pairs.count <= HeldRanges.most else { return nil }
        var held = HeldRanges()
        for pair in pairs {
            guard let ends = pair.array, ends.count == 2, let from = ends[0].integer, let to = ends[1].integer,
                from >= 0, from < to
            else { return nil }
            held.insert(from..<to)
        }
        return held
    }

    /// FNV-1a of 64 bits: detects every change of a single byte.
    private static func checksum(_ bytes: ArraySlice<UInt8>) -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in bytes {
            hash ^= UInt64(byte)
            hash = hash &* 0x0000_0100_0000_01b3
        }
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: max(0, 16 - digits.utf8.count)) + digits
    }
}

extension DownloadJournal: JSONEncodable {
    package func encode(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("format", Int(Self.format))
            writer.member("url", url)
            writer.member("partial", partial)
            writer.member("asked", asked)
            writer.member("home", home)
            writer.member("target", target)
            if replaces { writer.member("replaces", true) }
            writer.member("total", version.total)
            writer.member("etag", version.etag)
            writer.member("lastModified", version.lastModified)
            writer.member("coding", version.coding)
            if !isSequential { writer.member("sequential", false) }
            writer.member("boot", boot)
            writer.name("held")
            writer.array { writer in
                for range in held.ranges {
                    writer.array { writer in
                        writer.value(range.lowerBound)
                        writer.value(range.upperBound)
                    }
                }
            }
        }
    }
}
