// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

extension HTTPFailure {
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
