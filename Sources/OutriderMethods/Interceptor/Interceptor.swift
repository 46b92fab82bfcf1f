// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// One interceptor of a request, ready to be used: what it does, in order, and whom it asks.
struct Interceptor: Sendable {
    enum Part: Sendable {
        case adapt(Adaptation)
        case retry(Retrier)
        case callback(ClientAdvisor.Code, CallbackRoles)
    }

    var parts: [Part]

    /// Of a chain, and of all interceptors of a request.
    static let mostParts = 256

    static func tooLong(_ pointer: String) -> RPCError {
        RPCError(
            .invalidParams, "interceptors must not have more than \(mostParts) parts in all",
            data: ["pointer": .string(pointer)])
    }

    init(_ parts: [Part] = []) { self.parts = parts }

    /// Adds it to a plan, after what is there.
    func add(to plan: inout ExchangePlan, _ book: inout ClientAdvisor.Book) {
        for part in parts {
            switch part {
            case .adapt(let adaptation): plan.adaptations.append(adaptation)
            case .retry(let retrier): plan.retriers.append(retrier)
            case .callback(let code, let roles):
                let key = book.add(code)
                if roles.contains(.adapt) { plan.adaptations.append(.callback(key)) }
                if roles.contains(.retry) { plan.retriers.append(.callback(key)) }
            }
        }
    }
}

/// An interceptor under its handle, for any number of requests and sessions.
final class InterceptorRecord: Holdable {
    static let kind = HandleKind.interceptor

    let handle = Handle<InterceptorRecord>()
    let interceptor: Interceptor
    /// What was given: the name of the member that says what it does.
    let what: String
    let label: String?

    init(_ interceptor: Interceptor, what: String, label: String?) {
        self.interceptor = interceptor
        self.what = what
        self.label = label
    }

    var isAwaited: Bool { true }

    func close() {}
}
