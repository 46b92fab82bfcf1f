// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// The callbacks to clients, and the fallback of each if the client is unreachable, late, or replies with an error or
/// invalid data.
enum CallbackKind: String, Sendable, CaseIterable {
    /// Before the adapters of each attempt: encodes the parameters. Fallback: the attempt fails (1202).
    case encode
    /// Before each attempt: changes the request. Fallback: the attempt fails (1300).
    case adapt
    /// After a failure: whether to retry. Fallback: no.
    case retry
    /// With a response: whether to accept. Fallback: no (1605).
    case validate
    /// With a body: its value. Fallback: a failure (1706).
    case serialize
    /// With a body: the bytes to read instead. Fallback: a failure (1706).
    case preprocess
    /// With the head of a response: whether to read on. Fallback: yes.
    case disposition
    /// With a redirect: whether to follow. Fallback: no.
    case redirect
    /// With a finished download: the path of the file. Fallback: the path without the callback.
    case destination
    /// After a challenge: a user and a password. Fallback: the server's refusal is the response.
    case challenge

    /// When a credential needs a new token. Fallback: none (1322).
    case refresh
    /// When a server's certificates are evaluated. Fallback: not trusted (1512).
    case trust
    /// When the store of credentials, or the key of a client certificate, is locked. Fallback: stays locked.
    case passphrase
    /// With a storable response: the entry for the cache. Fallback: nothing is stored.
    case cacheResponse

    /// The method of the callback.
    var method: String { "callback." + rawValue }

    /// The failure without a reply; nil if the exchange continues.
    func failure(_ error: RPCError) -> HTTPFailure? {
        let kind: HTTPFailure.Kind
        let what: String
        switch self {
        case .encode: (kind, what) = (.customEncodingFailed, "the client did not encode the parameters")
        case .adapt: (kind, what) = (.requestAdaptationFailed, "the client did not say how to send the request")
        case .validate: (kind, what) = (.customValidationFailed, "the client did not say that the response is valid")
        case .preprocess: (kind, what) = (.customSerializationFailed, "the client did not say which bytes to read")
        case .serialize: (kind, what) = (.customSerializationFailed, "the client did not serialize the body")
        case .retry, .disposition, .redirect, .destination, .challenge, .refresh, .trust, .passphrase, .cacheResponse:
            return nil
        }
        return HTTPFailure(
            kind, "\(what): \(error.message)", underlying: error.underlying,
            details: error.data?["error"].map { [.error($0)] } ?? [])
    }
}

extension RPCError {
    /// The error of a callback, as the layer below a failure.
    var underlying: HTTPFailure.Underlying { HTTPFailure.Underlying(.callback, code, message) }

    /// Whether the callback failed because of the waiting request: timed out, cancelled, or without a place in its time.
    var isOfCaller: Bool {
        switch Code(rawValue: code) {
        case .callbackTimedOut, .cancelled, .tooMany: true
        default: false
        }
    }
}
