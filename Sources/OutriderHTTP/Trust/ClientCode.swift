// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Makes a client's callbacks about servers and keys. All requests of a client share an object, compared by identity:
/// an approval by a client never counts for another client.
package protocol SecurityCallbacks: AnyObject, Sendable {
    /// A random text in place of the object, for stores: never that of another client.
    var mark: String { get }

    func decide(_ callback: TrustCallback, _ spec: CallbackSpec) async -> TrustReply
    /// The passphrase of a file, after so many wrong ones; nil for none.
    func passphrase(of file: String, failures: Int, _ spec: CallbackSpec) async -> SecretText?
    /// The token of a stored credential; nil for none.
    func token(of credential: String) async -> SecretText?
}

/// A callback of a client about servers or keys, or its credential that holds a passphrase.
package struct ClientCode: Sendable, Hashable {
    package enum Source: Sendable, Hashable {
        case callback(CallbackSpec)
        /// By its name.
        case credential(String)
    }

    package let source: Source
    /// Nil until the parameters are bound to their client.
    private let callbacks: (any SecurityCallbacks)?

    package init(_ source: Source, callbacks: (any SecurityCallbacks)? = nil) {
        self.source = source
        self.callbacks = callbacks
    }

    package func bound(to callbacks: any SecurityCallbacks) -> ClientCode { ClientCode(source, callbacks: callbacks) }

    /// Names the client; nil until the parameters are bound to one.
    package var client: String? { callbacks?.mark }

    package func decide(_ callback: TrustCallback) async -> TrustReply {
        guard case .callback(let spec) = source, let callbacks else {
            return TrustReply(isTrusted: false, reason: "no client can be asked")
        }
        return await callbacks.decide(callback, spec)
    }

    package func passphrase(of file: String, failures: Int) async -> SecretText? {
        switch source {
        case .callback(let spec): await callbacks?.passphrase(of: file, failures: failures, spec)
        // a second call would return the same token
        case .credential(let name): failures == 0 ? await callbacks?.token(of: name) : nil
        }
    }

    package static func == (one: ClientCode, other: ClientCode) -> Bool {
        one.source == other.source && one.callbacks === other.callbacks
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(source) }
}

/// The content of a trust callback.
package struct TrustCallback: Sendable {
    package var host: String
    package var port: Int
    /// Why the default evaluation refuses the server; nil if accepted.
    package var reason: String?
    /// The certificates from the server, its own first.
    package var chain: [CertificateFacts]

    package init(host: String, port: Int, reason: String?, chain: [CertificateFacts]) {
        self.host = host
        self.port = port
        self.reason = reason
        self.chain = chain
    }
}

/// A client's decision about a server.
package struct TrustReply: Sendable {
    package var isTrusted: Bool
    /// Why the server is not trusted.
    package var reason: String?
    /// How long the reply is cached for the same callback content, in seconds.
    package var remembered: Double

    package init(isTrusted: Bool, reason: String? = nil, remembered: Double = 0) {
        self.isTrusted = isTrusted
        self.reason = reason
        self.remembered = remembered
    }
}
