// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Tells whether a host is reachable, as far as this machine knows.
struct ReachabilityStatus: Method {
    static let name = "reachability.status"

    struct Params: JSONDecodable {
        var target: ReachabilityTarget

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            target = try ReachabilityTarget(&fields)
            try fields.finish()
        }
    }

    struct Result: ObjectShape {
        var sample: PathSample
        var probe: ReachabilityProbe?

        func encodeMembers(to writer: inout JSONWriter) {
            writer.members(of: sample)
            writer.member("probe", probe)
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> Result {
        let engine = call.scope.service.engine
        var sample = engine.path(to: params.target.url)
        guard let endpoint = params.target.probed else { return Result(sample: sample) }
        let probe = await ReachabilityProbe.run(endpoint, engine, call.scope.quota)
        sample.status = probe.failure == nil ? .reachable : .unreachable
        return Result(sample: sample, probe: probe)
    }
}

/// Which way is looked at: `url` or `host`, or any; and whether a connection is made to find out.
struct ReachabilityTarget {
    private enum Probe: String, CaseIterable, Sendable { case route, connect }

    /// Nil for any way out.
    var url: HTTPURL?
    private var probe = Probe.route
    /// The client left the choice to the service.
    private(set) var wasProbeAbsent: Bool

    init(_ fields: inout JSONFields) throws(JSONComplaint) {
        let text: String? = try fields.optional("url")
        let host: String? = try fields.optional("host")
        let chosen: Probe? = try fields.choice("probe")
        probe = chosen ?? .route
        wasProbeAbsent = chosen == nil
        if let text {
            if host != nil {
                throw JSONComplaint("give url or host, not both", at: JSONPointer(member: "host"))
            }
            do throws(HTTPFailure) {
                url = try HTTPURL(parsing: text)
            } catch {
                throw JSONComplaint(error.message, at: JSONPointer(member: "url"))
            }
        } else if let host {
            guard let url = HTTPURL(streamTo: host, port: 9) else {
                throw JSONComplaint(
                    "host must be a host name or an address, without a scheme, port or path: \(host.excerpt)",
                    at: JSONPointer(member: "host"))
            }
            self.url = url
        }
        if probe == .connect, text == nil {
            throw JSONComplaint("url is required by probe \"connect\"", at: JSONPointer(member: "url"))
        }
    }

    /// Whether connections are made to find out.
    var connects: Bool { probe == .connect }

    /// The endpoint to connect to; nil if nothing is sent.
    var probed: HTTPURL? {
        guard probe == .connect, var url else { return nil }
        (url.scheme, url.target) = (.tcp, "")
        return url
    }
}

extension JSONWriter {
    mutating func members(of sample: PathSample) {
        member("status", sample.status.rawValue)
        if let interface = sample.interface { member("interface", NetworkInterfaceShape(interface)) }
        member("ipv4", sample.ipv4)
        member("ipv6", sample.ipv6)
    }
}

struct NetworkInterfaceShape: ObjectShape {
    var interface: NetworkInterface

    init(_ interface: NetworkInterface) { self.interface = interface }

    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("name", interface.name)
        writer.member("kind", interface.kind.rawValue)
    }
}
