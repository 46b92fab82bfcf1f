// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderRPC

extension InterceptorParameter {
    /// Adds the interceptor's parts. Throws `unknownHandle`, and `invalidParams` for too long a chain.
    fileprivate func add(to whole: inout Interceptor, _ call: Call<ClientScope>) throws(RPCError) {
        switch self {
        case .handle(let name):
            let record = try call.scope.handles.find(Handle<InterceptorRecord>(named: name), "interceptors")
            whole.append(record.interceptor)
        case .spec(let spec): try spec.add(to: &whole, call)
        }
    }
}

extension InterceptorSpec {
    func resolved(_ call: Call<ClientScope>) throws(RPCError) -> Interceptor {
        var whole = Interceptor()
        try add(to: &whole, call)
        return whole
    }

    fileprivate func add(to whole: inout Interceptor, _ call: Call<ClientScope>) throws(RPCError) {
        switch action {
        case .adapt(let adaptation): whole.adapt(adaptation)
        case .oauth(let credential):
            try credential.checkOwner(call)
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
            for link in links {
                try link.add(to: &chain, call)
                if chain.size > Interceptor.mostParts { throw Interceptor.tooLong("/chain") }
            }
            whole.append(chain)
        }
    }
}

extension [InterceptorParameter] {
    /// All interceptors, merged.
    func resolved(_ call: Call<ClientScope>) throws(RPCError) -> Interceptor {
        var whole = Interceptor()
        for interceptor in self {
            try interceptor.add(to: &whole, call)
            if whole.size > Interceptor.mostParts { throw Interceptor.tooLong("/interceptors") }
        }
        return whole
    }
}
