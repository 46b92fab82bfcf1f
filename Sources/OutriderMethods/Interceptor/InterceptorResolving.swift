// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderRPC

extension InterceptorParameter {
    /// Throws `unknownHandle`, and `invalidParams` for a chain that is too long.
    func resolved(_ call: Call<ClientScope>) throws(RPCError) -> Interceptor {
        switch self {
        case .handle(let name):
            try call.scope.handles.find(Handle<InterceptorRecord>(named: name), "interceptors").interceptor
        case .spec(let spec): try spec.resolved(call)
        }
    }
}

extension InterceptorSpec {
    func resolved(_ call: Call<ClientScope>) throws(RPCError) -> Interceptor {
        switch action {
        case .adapt(let adaptation): return Interceptor([.adapt(adaptation)])
        case .retry(let retriers, let code):
            return Interceptor(
                retriers.map { retrier in
                    guard let code, retrier == .callback(code.name) else { return .retry(retrier) }
                    return .callback(ClientAdvisor.Code(spec: code, asker: Asker(call)), .retry)
                })
        case .callback(let spec, let roles, let isAskedOnce):
            let code = ClientAdvisor.Code(spec: spec, asker: Asker(call), isAskedOnce: isAskedOnce)
            return Interceptor([.callback(code, roles)])
        case .chain(let links):
            var parts: [Interceptor.Part] = []
            for link in links {
                parts += try link.resolved(call).parts
                if parts.count > Interceptor.mostParts { throw Interceptor.tooLong("/chain") }
            }
            return Interceptor(parts)
        }
    }
}

extension [InterceptorParameter] {
    func resolved(_ call: Call<ClientScope>) throws(RPCError) -> [Interceptor] {
        var found: [Interceptor] = []
        var parts = 0
        for interceptor in self {
            let one = try interceptor.resolved(call)
            parts += one.parts.count
            if parts > Interceptor.mostParts { throw Interceptor.tooLong("/interceptors") }
            found.append(one)
        }
        return found
    }
}
