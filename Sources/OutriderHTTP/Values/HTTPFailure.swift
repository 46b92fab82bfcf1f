// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// Why network work failed, at which stage, and whether a retry could help.
///
/// A single reference, because every result and every step of a request has room for a failure. Copies share their
/// storage; a change to a shared failure copies the storage first.
package struct HTTPFailure: Error, Sendable {
    private struct Values: Equatable {
        var kind: Kind
        var message: String
        var phase: Phase?
        var retryable: Bool
        var sent: Sent
        var underlying: Underlying?
        var pointer: String?
        var details: [FailureDetail]
    }

    // proof: changed only through `values` of a failure with the sole reference.
    private final class Parts: @unchecked Sendable {
        var values: Values

        init(_ values: Values) { self.values = values }
    }

    private var parts: Parts

    private var values: Values {
        get { parts.values }
        _modify {
            if !isKnownUniquelyReferenced(&parts) { parts = Parts(parts.values) }
            yield &parts.values
        }
    }

    package var kind: Kind {
        get { parts.values.kind }
        set { values.kind = underlying?.isOutOfDescriptors == true ? .tooManyOpenFiles : newValue }
    }
    /// A sentence for people, naming host, phase or limit; no secrets, no query of a URL.
    package var message: String {
        get { parts.values.message }
        set { values.message = newValue }
    }
    /// Where time or the connection ran out.
    package var phase: Phase? {
        get { parts.values.phase }
        set { values.phase = newValue }
    }
    /// Whether the same request could succeed later.
    package var retryable: Bool {
        get { parts.values.retryable }
        set { values.retryable = newValue }
    }
    /// Whether the server may have seen the request.
    package var sent: Sent {
        get { parts.values.sent }
        set { values.sent = newValue }
    }
    package var underlying: Underlying? {
        get { parts.values.underlying }
        set { values.underlying = newValue }
    }
    /// The faulty place in the caller's params, as an RFC 6901 pointer; nil if the fault is not in the params.
    package var pointer: String? {
        get { parts.values.pointer }
        set { values.pointer = newValue }
    }
    /// Details for programs beyond the kind.
    package var details: [FailureDetail] {
        get { parts.values.details }
        set { values.details = newValue }
    }

    /// - Parameter kind: becomes `tooManyOpenFiles` if the underlying error is EMFILE or ENFILE: the file, host or
    ///   server is not at fault then.
    package init(
        _ kind: Kind, _ message: String, phase: Phase? = nil, retryable: Bool? = nil, sent: Sent = .notSent,
        underlying: Underlying? = nil, pointer: String? = nil, details: [FailureDetail] = []
    ) {
        let kind = underlying?.isOutOfDescriptors == true ? .tooManyOpenFiles : kind
        parts = Parts(
            Values(
                kind: kind, message: Excerpt.sentence(message), phase: phase,
                retryable: kind == .tooManyOpenFiles || retryable ?? kind.usuallyRetryable, sent: sent,
                underlying: underlying, pointer: pointer.map(Excerpt.pointer), details: details))
    }

    /// A name, value or path for a message: its first 200 characters.
    package static func excerpt(_ text: String) -> String { text.excerpt }

    package enum Phase: String, Sendable, CaseIterable {
        case queue, resolve, connect, proxy, tls, request, firstByte, response, total
    }

    package enum Sent: String, Sendable { case notSent, maybeSent, sent }

    /// The error of a library or the system that led here.
    package struct Underlying: Sendable, Equatable {
        package enum Domain: String, Sendable { case posix, tls, dns, http, http2, json, callback, file }

        package var domain: Domain
        package var code: Int
        package var message: String

        package init(_ domain: Domain, _ code: Int, _ message: String) {
            self.domain = domain
            self.code = code
            self.message = message
        }

        /// Whether the process (EMFILE) or the system (ENFILE) has no file descriptor left.
        var isOutOfDescriptors: Bool { (domain == .posix || domain == .file) && (code == 24 || code == 23) }
    }

    /// A closed list; the contract lists its codes and wire names (schema/errors.json).
    package enum Kind: Sendable, Equatable, Hashable, CaseIterable {
        // building the request
        case invalidURL, createURLRequestFailed, bodyDataInGETRequest, createUploadableFailed
        case parameterEncodingFailed, customEncodingFailed, parameterEncoderFailed
        // multipart forms: a part, and where the form is written
        case bodyPartURLInvalid, bodyPartFilenameInvalid, bodyPartFileNotReachable, bodyPartFileNotReachableWithError
        case bodyPartFileIsDirectory, bodyPartFileSizeNotAvailable, bodyPartFileSizeQueryFailed
        case bodyPartInputStreamCreationFailed, inputStreamReadFailed
        case outputStreamCreationFailed, outputStreamFileAlreadyExists, outputStreamURLInvalid, outputStreamWriteFailed
        // a client's own rules before and between attempts
        case requestAdaptationFailed, requestRetryFailed
        // authentication of the client and of the server
        case serverAuthenticationFailed, missingCredential, excessiveRefresh, refreshFailed
        // the network
        case sessionTaskFailed, nameNotFound, connectionRefused, unreachable, connectionLost, timedOut
        case tlsHandshakeFailed, tooManyRedirects, malformedResponse, bodyUnreadable, limitExceeded
        case offline, unsupportedScheme, redirectRefused, addressRefused, protocolNotNegotiated, notCached
        // this process or this machine
        case tooManyOpenFiles
        // a proxy that does not work, refuses, or requires authentication
        case proxyFailed, proxyRefused, proxyAuthenticationRequired
        // trust
        case trustEvaluationFailed, hostValidationFailed, settingAnchorCertificatesFailed
        case noRequiredEvaluator, noCertificatesFound, noPublicKeysFound, revocationPolicyCreationFailed
        case revocationCheckFailed, certificatePinningFailed, publicKeyPinningFailed, customEvaluationFailed
        // client certificates
        case clientCertificateRequired, clientCertificateUnusable
        // validation of the response
        case unacceptableStatusCode, unacceptableContentType, missingContentType, dataFileReadFailed
        case customValidationFailed
        // serialization of the response
        case inputDataNilOrZeroLength, inputFileReadFailed, stringSerializationFailed, jsonSerializationFailed
        case decodingFailed, customSerializationFailed, invalidEmptyResponse
        // files
        case downloadedFileMoveFailed, destinationExists, resumeDataUnusable, fileWriteFailed
        // downloads
        case destinationBusy, resourceChanged, checksumMismatch, insufficientSpace, destinationUnsafe
        // event streams
        case eventStreamWrongContentType, eventStreamReconnectLimit, eventStreamRetryRefused
        // WebSockets
        case webSocketHandshakeRefused, webSocketClosedByPeer, webSocketMessageTooBig, webSocketProtocolError
        case webSocketPingTimeout, webSocketQueueFull, webSocketReconnectLimit
        // TCP streams
        case tcpClosed, writeAfterFinish, tlsUpgradeFailed
        // record, replay, stubs
        case replayMiss, cassetteUnusable, replayMismatch, stubMiss
        // routers
        case unknownEndpoint, missingPathParameter, parametersDoNotFit
        // ends
        case explicitlyCancelled, sessionDeinitialized, sessionInvalidated

        package var usuallyRetryable: Bool {
            switch self {
            case .nameNotFound, .connectionRefused, .unreachable, .connectionLost, .timedOut, .offline,
                .eventStreamReconnectLimit, .webSocketReconnectLimit, .webSocketPingTimeout, .destinationBusy,
                .proxyFailed, .tooManyOpenFiles:
                true
            default: false
            }
        }
    }
}

extension HTTPFailure: Equatable {
    package static func == (left: HTTPFailure, right: HTTPFailure) -> Bool {
        left.parts === right.parts || left.values == right.values
    }
}
