// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON

/// Exchanges as an HTTP Archive 1.2, which browsers' developer tools and many programs read.
struct HARShape: ObjectShape {
    var version: String
    var entries: [HAREntryShape]

    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("log") { writer in
            writer.member("version", "1.2")
            writer.member("creator") { writer in
                writer.member("name", "outrider")
                writer.member("version", version)
            }
            writer.member("entries", entries)
        }
    }
}

/// A single exchange: its last attempt.
struct HAREntryShape: ObjectShape {
    var facts: ExchangeFacts
    var started: WallTime
    var mask: ShownMask
    var showsBodies: Bool

    func encodeMembers(to writer: inout JSONWriter) {
        let timings = HARTimings(facts.timeline)
        writer.member("startedDateTime", TimeShape(started))
        writer.member("time", timings.total)
        writer.member("request", HARRequestShape(facts: facts, mask: mask, showsBody: showsBodies))
        writer.member("response", HARResponseShape(facts: facts, mask: mask, showsBody: showsBodies))
        writer.member("cache") { _ in }
        writer.member("timings", timings)
        // an address without its port; none for a Unix socket
        if let remote = facts.timeline?.remote, remote.utf8.first != UInt8(ascii: "/"),
            let colon = remote.utf8.lastIndex(of: UInt8(ascii: ":"))
        {
            writer.member("serverIPAddress", String(remote[..<colon]).filter { $0 != "[" && $0 != "]" })
            writer.member("connection", String(remote[remote.utf8.index(after: colon)...]))
        }
        if let failure = facts.failure { writer.member("comment", mask.text(failure.message)) }
        // the format reserves names with an underscore for programs
        if !facts.redirects.isEmpty {
            writer.member("_redirects", facts.redirects.map { HARRedirectShape(hop: $0, mask: mask) })
        }
    }
}

/// Milliseconds of each phase; -1 for a skipped phase.
struct HARTimings: ObjectShape {
    private let blocked, dns, connect, ssl: Double?
    private let send, wait, receive: Double

    init(_ timeline: Timeline?) {
        blocked = timeline?.queue.map(Self.milliseconds)
        dns = timeline?.resolve.map(Self.milliseconds)
        ssl = timeline?.tls.map(Self.milliseconds)
        // the archive includes TLS in connecting, and has no phase for proxies
        let opening = [timeline?.connect, timeline?.proxy, timeline?.tls].compactMap { $0.map(Self.milliseconds) }
        connect = opening.isEmpty ? nil : opening.reduce(0, +)
        send = timeline?.request.map(Self.milliseconds) ?? 0
        wait = timeline?.firstByte.map(Self.milliseconds) ?? 0
        receive = timeline?.response.map(Self.milliseconds) ?? 0
    }

    /// The sum of all phases, as the archive demands.
    var total: Double {
        let parts = [blocked, dns, connect, send, wait, receive].compactMap { $0 }
        return Self.rounded(parts.reduce(0, +))
    }

    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("blocked", blocked ?? -1)
        writer.member("dns", dns ?? -1)
        writer.member("connect", connect.map(Self.rounded) ?? -1)
        writer.member("send", send)
        writer.member("wait", wait)
        writer.member("receive", receive)
        writer.member("ssl", ssl ?? -1)
    }

    private static func milliseconds(_ duration: Duration) -> Double { rounded(max(0, duration.seconds) * 1000) }

    /// To microseconds, so that the text stays short.
    private static func rounded(_ milliseconds: Double) -> Double { (milliseconds * 1000).rounded() / 1000 }
}
