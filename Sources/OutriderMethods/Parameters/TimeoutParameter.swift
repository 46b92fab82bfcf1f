// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// Seconds for the whole request, or for each phase; absent members keep their defaults.
struct TimeoutParameter: JSONDecodable {
    private var resolve: Double?
    private var connect: Double?
    private var tls: Double?
    private var firstByte: Double?
    private var idle: Double?
    private var total: Double?
    private var resource: Double?
    private var minRate: Int?

    /// The shortest and the longest timeout, in seconds. There is no endless timeout.
    private static let range = 0.001...86400
    private static let resources = 0.001...604_800.0

    init(json: JSONValue) throws(JSONComplaint) {
        if let seconds = json.number {
            guard Self.range.contains(seconds) else { throw JSONComplaint("must be from 0.001 to 86400 seconds") }
            total = seconds
            return
        }
        guard json.object != nil || json.array?.isEmpty == true else {
            throw JSONComplaint("must be a number of seconds or an object of phases, not \(json.typeName)")
        }
        var fields = try JSONFields(json)
        resolve = try Self.phase("resolve", &fields)
        connect = try Self.phase("connect", &fields)
        tls = try Self.phase("tls", &fields)
        firstByte = try Self.phase("firstByte", &fields)
        idle = try Self.phase("idle", &fields)
        total = try Self.phase("total", &fields)
        resource = try fields.number("resource", in: Self.resources)
        minRate = try fields.integer("minRate", in: 1...1 << 40)
        try fields.finish()
    }

    private static func phase(_ name: StaticString, _ fields: inout JSONFields) throws(JSONComplaint) -> Double? {
        try fields.optional(name, as: Double.self) { seconds in
            range.contains(seconds) ? nil : "must be from 0.001 to 86400 seconds"
        }
    }

    func apply(to timeouts: inout Timeouts) {
        if let resolve { timeouts.resolve = resolve }
        if let connect { timeouts.connect = connect }
        if let tls { timeouts.tls = tls }
        if let firstByte { timeouts.firstByte = firstByte }
        if let idle { timeouts.idle = idle }
        if let total { timeouts.total = total }
        if let resource { timeouts.resource = resource }
        if let minRate { timeouts.minimumRate = minRate }
    }
}
