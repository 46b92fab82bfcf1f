// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The state of the route to a host at a moment.
package struct PathSample: Sendable, Equatable {
    package enum Status: String, Sendable { case reachable, unreachable, unknown }

    package var status: Status
    /// The first interface of the route; nil if no route exists, or if the system reports no interface.
    package var interface: NetworkInterface?
    /// Whether a route exists for this version of IP.
    package var ipv4: Bool
    package var ipv6: Bool
    /// The local address of connections, as written in messages; nil if unknown.
    package var local: String?

    package init(
        _ status: Status, interface: NetworkInterface? = nil, ipv4: Bool = false, ipv6: Bool = false,
        local: String? = nil
    ) {
        self.status = status
        self.interface = interface
        self.ipv4 = ipv4
        self.ipv6 = ipv6
        self.local = local
    }
}

package struct NetworkInterface: Sendable, Hashable {
    package enum Kind: String, Sendable, CaseIterable { case ethernet, wifi, cellular, tunnel, loopback, other }

    package var name: String
    package var kind: Kind

    package init(name: String, kind: Kind) {
        self.name = name
        self.kind = kind
    }
}

/// The permitted interfaces of a route.
package struct InterfaceRule: Sendable, Hashable {
    /// The kind that the interface must have; nil for any.
    package var required: NetworkInterface.Kind?
    package var prohibited: Set<NetworkInterface.Kind>

    package init(required: NetworkInterface.Kind? = nil, prohibited: Set<NetworkInterface.Kind> = []) {
        self.required = required
        self.prohibited = prohibited
    }

    /// Whether the route is usable over a permitted interface. An unknown interface is of no required and of no
    /// prohibited kind.
    package func permits(_ sample: PathSample) -> Bool {
        guard sample.status != .unreachable else { return false }
        guard let kind = sample.interface?.kind else { return required == nil }
        return (required == nil || required == kind) && !prohibited.contains(kind)
    }
}

/// Decides which samples of a route are reported as changes.
///
/// A change is reported at once, but no sooner than 250 ms after the previous change. A route that changes more than
/// four times within two seconds is reported once a second. Times are seconds of a monotonic clock.
package struct ReachabilityMachine: Sendable {
    package static let pause = 0.25
    package static let flappingPause = 1.0
    private static let flappingSpan = 2.0
    private static let flappingChanges = 4

    /// The last report.
    package private(set) var told: PathSample
    private var changes: [Double] = []

    package enum Step: Sendable, Equatable {
        /// No report.
        case none
        /// The route has changed from this state.
        case tell(PathSample, previous: PathSample)
        /// Too early for a report: sample again at this time.
        case sampleAgain(at: Double)
    }

    package init(_ first: PathSample) { told = first }

    package mutating func sampled(_ sample: PathSample, at now: Double) -> Step {
        changes.removeAll { now - $0 >= Self.flappingSpan }
        guard sample != told else { return .none }
        let pause = changes.count >= Self.flappingChanges ? Self.flappingPause : Self.pause
        if let last = changes.last, now < last + pause { return .sampleAgain(at: last + pause) }
        let previous = told
        told = sample
        changes.append(now)
        return .tell(sample, previous: previous)
    }
}
