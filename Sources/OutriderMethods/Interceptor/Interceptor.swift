// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// One or several interceptors in order, ready for use: neighbouring rules are merged.
struct Interceptor: Sendable {
    enum Adapter: Sendable {
        case rules([Adaptation])
        /// A callback, by its index in `codes`.
        case code(Int)
    }

    private enum Decider: Sendable {
        case rule(Retrier)
        case code(Int)
    }

    private var adapters: [Adapter] = []
    private var deciders: [Decider] = []
    private var codes: [ClientDelegate.Code] = []
    /// The number of parts before any merging.
    private(set) var size = 0
    /// Whether a credential goes to any origin that requests name.
    private(set) var trustsEverybody = false

    /// The most parts of a chain, and of all interceptors of a request.
    static let mostParts = 256

    static func tooLong(_ pointer: String) -> RPCError {
        RPCError(
            .invalidParams, "interceptors must not have more than \(mostParts) parts in all",
            data: ["pointer": .string(pointer)])
    }

    mutating func adapt(_ adaptation: Adaptation) {
        size += 1
        if case .credential(let credential) = adaptation, credential.origins == nil { trustsEverybody = true }
        var rules: [Adaptation] = []
        if case .rules(let before)? = adapters.last {
            adapters.removeLast()
            rules = before
        }
        rules.add(adaptation)
        adapters.append(.rules(rules))
    }

    mutating func retry(_ retrier: Retrier) {
        size += 1
        deciders.append(.rule(retrier))
    }

    mutating func call(_ code: ClientDelegate.Code, _ roles: CallbackRoles) {
        size += 1
        codes.append(code)
        if roles.contains(.adapt) { adapters.append(.code(codes.count - 1)) }
        if roles.contains(.retry) { deciders.append(.code(codes.count - 1)) }
    }

    /// Appends the other's parts.
    mutating func append(_ other: Interceptor) {
        if size == 0 {
            self = other
            return
        }
        let sum = size + other.size
        let first = codes.count
        for adapter in other.adapters {
            switch adapter {
            case .rules(let rules): for rule in rules { adapt(rule) }
            case .code(let index): adapters.append(.code(first + index))
            }
        }
        for decider in other.deciders {
            switch decider {
            case .rule: deciders.append(decider)
            case .code(let index): deciders.append(.code(first + index))
            }
        }
        codes += other.codes
        trustsEverybody = trustsEverybody || other.trustsEverybody
        size = sum
    }

    /// Adds the interceptor to the end of a plan.
    func add(to plan: inout ExchangePlan, _ registry: inout ClientDelegate.CallbackRegistry) {
        let keys = codes.map { registry.add($0) }
        for adapter in adapters {
            switch adapter {
            case .rules(let rules) where plan.adaptations.isEmpty: plan.adaptations = rules
            case .rules(let rules): for rule in rules { plan.adaptations.add(rule) }
            case .code(let index): plan.adaptations.append(.callback(keys[index]))
            }
        }
        for decider in deciders {
            switch decider {
            case .rule(let retrier): plan.retriers.append(retrier)
            case .code(let index): plan.retriers.append(.callback(keys[index]))
            }
        }
    }
}

/// An interceptor under its handle, for any number of requests and sessions.
final class InterceptorRecord: Holdable {
    static let kind = HandleKind.interceptor

    let handle = Handle<InterceptorRecord>()
    let interceptor: Interceptor
    /// The member that defines the interceptor.
    let what: InterceptorSpec.Kind
    let label: String?
    /// The memory of a long definition.
    private let charge: (any PayloadCharge)?

    init(
        _ interceptor: Interceptor, what: InterceptorSpec.Kind, label: String?, charge: (any PayloadCharge)? = nil
    ) {
        self.charge = charge
        self.interceptor = interceptor
        self.what = what
        self.label = label
    }

    var isAwaited: Bool { true }

    func close() {}
}
