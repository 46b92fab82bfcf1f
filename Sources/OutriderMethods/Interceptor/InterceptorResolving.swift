// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderRPC

extension InterceptorParameter {
    /// Adds the interceptor's parts. Throws `unknownHandle`, and `invalidParams` for too long a chain.
    ///
    /// - Parameter place: of the interceptor in the params, such as `interceptors/0`.
    fileprivate func add(
        to whole: inout Interceptor, _ call: Call<ClientScope>, _ place: String
    ) throws(RPCError) {
        switch self {
        case .handle(let name):
            let record = try call.scope.handles.find(Handle<InterceptorRecord>(named: name), place)
            whole.append(record.interceptor)
        case .spec(let spec): try spec.add(to: &whole, call, place)
        }
    }
}

extension InterceptorSpec {
    /// - Parameter place: of the definition in the params.
    func resolved(_ call: Call<ClientScope>, _ place: String) throws(RPCError) -> Interceptor {
        var whole = Interceptor()
        try add(to: &whole, call, place)
        return whole
    }

    fileprivate func add(
        to whole: inout Interceptor, _ call: Call<ClientScope>, _ place: String
    ) throws(RPCError) {
        switch action {
        case .adapt(let adaptation): whole.adapt(adaptation)
        case .oauth(let credential):
            try credential.checkOwner(call, at: "/\(place)/oauth")
            whole.adapt(.oauth(credential.text, isRequired: false))
            whole.retry(.oauth(credential.text))
        case .retry(let retriers, let code):
            for retrier in retriers {
                if let code, retrier == .callback(code.name) {
                    whole.call(ClientDelegate.Code(spec: code, runner: CallbackRunner(call)), .retry)
                } else {
                    whole.retry(retrier)
                }
            }
        case .callback(let spec, let roles, let isCalledOnce):
            whole.call(ClientDelegate.Code(spec: spec, runner: CallbackRunner(call), isCalledOnce: isCalledOnce), roles)
        case .chain(let links):
            var chain = Interceptor()
            for (index, link) in links.enumerated() {
                try link.add(to: &chain, call, "\(place)/chain/\(index)")
                if chain.size > Interceptor.mostParts { throw Interceptor.tooLong("/\(place)/chain") }
            }
            whole.append(chain)
        }
    }
}

extension [InterceptorParameter] {
    /// All interceptors, merged.
    func resolved(_ call: Call<ClientScope>) throws(RPCError) -> Interceptor {
        var whole = Interceptor()
        for (index, interceptor) in enumerated() {
            try interceptor.add(to: &whole, call, "interceptors/\(index)")
            if whole.size > Interceptor.mostParts { throw Interceptor.tooLong("/interceptors") }
        }
        return whole
    }
}
