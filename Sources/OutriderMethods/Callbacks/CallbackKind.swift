// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// What a client's code may be asked, and what follows when it cannot be asked, does not answer in time, or answers with
/// an error or with what cannot be understood.
enum CallbackKind: String, Sendable, CaseIterable {
    /// Before the adapters of each attempt: how its parameters shall be sent. Otherwise the attempt fails (1202).
    case encode
    /// Before each attempt: how it shall be sent. Otherwise the attempt fails (1300).
    case adapt
    /// After a failure: whether to send again. Otherwise it is not.
    case retry
    /// With a response: whether it is acceptable. Otherwise it is not (1605).
    case validate
    /// With a body: what it says. Otherwise that is not known (1706).
    case serialize
    /// With a body: the bytes to read in its place. Otherwise that is not known (1706).
    case preprocess
    /// With the head of a response: whether to read on. Otherwise it is read.
    case disposition
    /// With a redirect: whether to follow. Otherwise it is not followed.
    case redirect
    /// With a download that has arrived: where its file goes. Otherwise it goes where it would go anyway.
    case destination
    /// When a server wants to know who asks: a user and a password. Otherwise its refusal is the answer.
    case challenge

    /// When a credential is to have a new token. Otherwise it has none (1322).
    case refresh
    /// When a server is to be believed. Otherwise it is not (1512).
    case trust
    /// When the store of credentials, or the key of a client certificate, is locked. Otherwise it stays so.
    case passphrase
    /// With a response that may be stored: what goes into the cache. Otherwise nothing does.
    case cacheResponse

    /// The method that a client answers.
    var method: String { "callback." + rawValue }

    /// The failure that follows from no answer; nil where the exchange goes on without.
    func failure(_ error: RPCError) -> HTTPFailure? {
        let kind: HTTPFailure.Kind
        let what: String
        switch self {
        case .encode: (kind, what) = (.customEncodingFailed, "the client did not encode the parameters")
        case .adapt: (kind, what) = (.requestAdaptationFailed, "the client did not say how to send the request")
        case .validate: (kind, what) = (.customValidationFailed, "the client did not say that the response is valid")
        case .preprocess: (kind, what) = (.customSerializationFailed, "the client did not say which bytes to read")
        case .serialize: (kind, what) = (.customSerializationFailed, "the client did not say what the body says")
        case .retry, .disposition, .redirect, .destination, .challenge, .refresh, .trust, .passphrase, .cacheResponse:
            return nil
        }
        return HTTPFailure(
            kind, "\(what): \(error.message)", underlying: error.underlying,
            details: error.data?["error"].map { [.error($0)] } ?? [])
    }
}

extension RPCError {
    /// What went wrong with a question, as the layer below a failure.
    var underlying: HTTPFailure.Underlying { HTTPFailure.Underlying(.callback, code, message) }

    /// Whether a question went wrong for a reason of whom it was asked for: no time left, or cancelled.
    var isOfAsker: Bool { code == Code.callbackTimedOut.rawValue || code == Code.cancelled.rawValue }
}
