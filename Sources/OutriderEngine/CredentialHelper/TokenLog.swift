// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP
import Synchronization

/// The requests of an order, without their secrets: for the cassette that the service records.
final class TokenLog: Sendable {
    /// An order sends few requests.
    private static let most = 16

    private let held = Mutex<[CassetteEntry]>([])

    var entries: [CassetteEntry] { held.withLock { $0 } }

    func add(_ entry: CassetteEntry) {
        held.withLock { entries in
            if entries.count < Self.most { entries.append(entry) }
        }
    }
}

/// What a helper writes to its standard output.
package struct HelperReport: Packed, Sendable {
    package var response: HelperResponse
    /// Without secrets; empty unless the order asks for entries.
    var entries: [CassetteEntry] = []

    package init(_ response: HelperResponse) { self.response = response }

    package func pack(into writer: inout PackedWriter) {
        for entry in entries { writer.put(6, PackedEntry(entry)) }
        response.pack(into: &writer)
    }

    package init(packed scanner: PackedScanner) throws(PackedFault) {
        response = try HelperResponse(packed: scanner)
        entries = try scanner.list(6, PackedEntry.self).map(\.entry)
    }
}

/// An entry as a line of a cassette, and its times.
private struct PackedEntry: Packed {
    var entry: CassetteEntry

    init(_ entry: CassetteEntry) { self.entry = entry }

    func pack(into writer: inout PackedWriter) {
        writer.put(1, bytes: CassetteWriter.line(entry, time: ""))
        writer.put(2, Int(clamping: entry.started))
        writer.put(3, entry.wait)
        writer.put(4, entry.total)
    }

    init(packed scanner: PackedScanner) throws(PackedFault) {
        guard let line = scanner.bytes(1), let read = CassetteReader.entry(line) else { throw PackedFault() }
        entry = read
        entry.started = Int64(clamping: try scanner.integer(2).orFault())
        entry.wait = try scanner.real(3).orFault()
        entry.total = try scanner.real(4).orFault()
    }
}
