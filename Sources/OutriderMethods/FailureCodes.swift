// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

/// The code of a failure on the wire (schema/errors.json).
struct FailureCode: Sendable, Equatable {
    var code: Int
    var kind: StaticString
    var reason: StaticString?

    init(_ code: Int, _ kind: StaticString, _ reason: StaticString? = nil) {
        self.code = code
        self.kind = kind
        self.reason = reason
    }

    static func == (one: FailureCode, other: FailureCode) -> Bool {
        one.code == other.code && one.kind.description == other.kind.description
            && one.reason?.description == other.reason?.description
    }
}

extension HTTPFailure.Kind {
    /// Exhaustive on purpose: a new kind needs a code before it compiles.
    var failureCode: FailureCode {
        switch self {
        case .invalidURL: FailureCode(1100, "invalidURL")
        case .createURLRequestFailed: FailureCode(1101, "createURLRequestFailed")
        case .bodyDataInGETRequest: FailureCode(1102, "urlRequestValidationFailed", "bodyDataInGETRequest")
        case .createUploadableFailed: FailureCode(1103, "createUploadableFailed")
        case .parameterEncodingFailed: FailureCode(1201, "parameterEncodingFailed", "jsonEncodingFailed")
        case .customEncodingFailed: FailureCode(1202, "parameterEncodingFailed", "customEncodingFailed")
        case .parameterEncoderFailed: FailureCode(1211, "parameterEncoderFailed", "encoderFailed")
        case .bodyPartURLInvalid: FailureCode(1220, "multipartEncodingFailed", "bodyPartURLInvalid")
        case .bodyPartFilenameInvalid: FailureCode(1221, "multipartEncodingFailed", "bodyPartFilenameInvalid")
        case .bodyPartFileNotReachable: FailureCode(1222, "multipartEncodingFailed", "bodyPartFileNotReachable")
        case .bodyPartFileNotReachableWithError:
            FailureCode(1223, "multipartEncodingFailed", "bodyPartFileNotReachableWithError")
        case .bodyPartFileIsDirectory: FailureCode(1224, "multipartEncodingFailed", "bodyPartFileIsDirectory")
        case .bodyPartFileSizeNotAvailable: FailureCode(1225, "multipartEncodingFailed", "bodyPartFileSizeNotAvailable")
        case .bodyPartFileSizeQueryFailed: FailureCode(1226, "multipartEncodingFailed", "bodyPartFileSizeQueryFailed")
        case .bodyPartInputStreamCreationFailed:
            FailureCode(1227, "multipartEncodingFailed", "bodyPartInputStreamCreationFailed")
        case .outputStreamCreationFailed: FailureCode(1228, "multipartEncodingFailed", "outputStreamCreationFailed")
        case .outputStreamFileAlreadyExists:
            FailureCode(1229, "multipartEncodingFailed", "outputStreamFileAlreadyExists")
        case .outputStreamURLInvalid: FailureCode(1230, "multipartEncodingFailed", "outputStreamURLInvalid")
        case .outputStreamWriteFailed: FailureCode(1231, "multipartEncodingFailed", "outputStreamWriteFailed")
        case .inputStreamReadFailed: FailureCode(1232, "multipartEncodingFailed", "inputStreamReadFailed")
        case .requestAdaptationFailed: FailureCode(1300, "requestAdaptationFailed")
        case .requestRetryFailed: FailureCode(1310, "requestRetryFailed")
        case .missingCredential: FailureCode(1320, "authenticationFailed", "missingCredential")
        case .excessiveRefresh: FailureCode(1321, "authenticationFailed", "excessiveRefresh")
        case .refreshFailed: FailureCode(1322, "authenticationFailed", "refreshFailed")
        case .serverAuthenticationFailed: FailureCode(1323, "authenticationFailed", "serverAuthenticationFailed")
        case .sessionTaskFailed: FailureCode(1400, "sessionTaskFailed", "other")
        case .nameNotFound: FailureCode(1401, "sessionTaskFailed", "nameNotFound")
        case .connectionRefused: FailureCode(1402, "sessionTaskFailed", "refused")
        case .unreachable: FailureCode(1403, "sessionTaskFailed", "unreachable")
        case .connectionLost: FailureCode(1404, "sessionTaskFailed", "connectionLost")
        case .timedOut: FailureCode(1405, "sessionTaskFailed", "timedOut")
        case .tlsHandshakeFailed: FailureCode(1406, "sessionTaskFailed", "tlsHandshake")
        case .tooManyRedirects: FailureCode(1407, "sessionTaskFailed", "tooManyRedirects")
        case .malformedResponse: FailureCode(1408, "sessionTaskFailed", "malformedHTTP")
        case .proxyFailed: FailureCode(1409, "sessionTaskFailed", "proxy")
        case .bodyUnreadable: FailureCode(1410, "sessionTaskFailed", "bodyUnreadable")
        case .limitExceeded: FailureCode(1411, "sessionTaskFailed", "responseTooLarge")
        case .offline: FailureCode(1412, "sessionTaskFailed", "offline")
        case .unsupportedScheme: FailureCode(1413, "sessionTaskFailed", "unsupportedScheme")
        case .redirectRefused: FailureCode(1414, "sessionTaskFailed", "redirectRefused")
        case .protocolNotNegotiated: FailureCode(1419, "sessionTaskFailed", "protocolNotNegotiated")
        case .addressRefused: FailureCode(1420, "sessionTaskFailed", "addressRefused")
        case .notCached: FailureCode(1421, "sessionTaskFailed", "notCached")
        case .proxyRefused: FailureCode(1415, "sessionTaskFailed", "proxyRefused")
        case .proxyAuthenticationRequired: FailureCode(1416, "sessionTaskFailed", "proxyAuthenticationRequired")
        case .tooManyOpenFiles: FailureCode(1422, "sessionTaskFailed", "tooManyOpenFiles")
        case .clientCertificateRequired: FailureCode(1417, "sessionTaskFailed", "clientCertificateRequired")
        case .clientCertificateUnusable: FailureCode(1418, "sessionTaskFailed", "clientCertificateUnusable")
        case .noRequiredEvaluator: FailureCode(1500, "serverTrustEvaluationFailed", "noRequiredEvaluator")
        case .noCertificatesFound: FailureCode(1501, "serverTrustEvaluationFailed", "noCertificatesFound")
        case .noPublicKeysFound: FailureCode(1502, "serverTrustEvaluationFailed", "noPublicKeysFound")
        case .revocationPolicyCreationFailed:
            FailureCode(1505, "serverTrustEvaluationFailed", "revocationPolicyCreationFailed")
        case .revocationCheckFailed: FailureCode(1509, "serverTrustEvaluationFailed", "revocationCheckFailed")
        case .certificatePinningFailed: FailureCode(1510, "serverTrustEvaluationFailed", "certificatePinningFailed")
        case .publicKeyPinningFailed: FailureCode(1511, "serverTrustEvaluationFailed", "publicKeyPinningFailed")
        case .customEvaluationFailed: FailureCode(1512, "serverTrustEvaluationFailed", "customEvaluationFailed")
        case .settingAnchorCertificatesFailed:
            FailureCode(1504, "serverTrustEvaluationFailed", "settingAnchorCertificatesFailed")
        case .trustEvaluationFailed: FailureCode(1506, "serverTrustEvaluationFailed", "trustEvaluationFailed")
        case .hostValidationFailed: FailureCode(1508, "serverTrustEvaluationFailed", "hostValidationFailed")
        case .unacceptableStatusCode: FailureCode(1600, "responseValidationFailed", "unacceptableStatusCode")
        case .unacceptableContentType: FailureCode(1601, "responseValidationFailed", "unacceptableContentType")
        case .missingContentType: FailureCode(1602, "responseValidationFailed", "missingContentType")
        case .dataFileReadFailed: FailureCode(1604, "responseValidationFailed", "dataFileReadFailed")
        case .customValidationFailed: FailureCode(1605, "responseValidationFailed", "customValidationFailed")
        case .inputDataNilOrZeroLength: FailureCode(1700, "responseSerializationFailed", "inputDataNilOrZeroLength")
        case .inputFileReadFailed: FailureCode(1702, "responseSerializationFailed", "inputFileReadFailed")
        case .stringSerializationFailed: FailureCode(1703, "responseSerializationFailed", "stringSerializationFailed")
        case .jsonSerializationFailed: FailureCode(1704, "responseSerializationFailed", "jsonSerializationFailed")
        case .decodingFailed: FailureCode(1705, "responseSerializationFailed", "decodingFailed")
        case .customSerializationFailed: FailureCode(1706, "responseSerializationFailed", "customSerializationFailed")
        case .invalidEmptyResponse: FailureCode(1707, "responseSerializationFailed", "invalidEmptyResponse")
        case .downloadedFileMoveFailed: FailureCode(1800, "downloadedFileMoveFailed")
        case .destinationExists: FailureCode(1801, "downloadedFileMoveFailed", "destinationExists")
        case .resumeDataUnusable: FailureCode(1802, "downloadedFileMoveFailed", "resumeDataUnusable")
        case .fileWriteFailed: FailureCode(1803, "downloadedFileMoveFailed", "fileWriteFailed")
        case .destinationBusy: FailureCode(1804, "downloadFailed", "destinationBusy")
        case .resourceChanged: FailureCode(1805, "downloadFailed", "resourceChanged")
        case .checksumMismatch: FailureCode(1806, "downloadFailed", "checksumMismatch")
        case .insufficientSpace: FailureCode(1807, "downloadFailed", "insufficientSpace")
        case .destinationUnsafe: FailureCode(1808, "downloadFailed", "destinationUnsafe")
        case .explicitlyCancelled: FailureCode(1900, "explicitlyCancelled")
        case .sessionDeinitialized: FailureCode(1901, "sessionDeinitialized")
        case .sessionInvalidated: FailureCode(1902, "sessionInvalidated")
        case .eventStreamWrongContentType: FailureCode(2010, "eventStreamFailed", "wrongContentType")
        case .eventStreamReconnectLimit: FailureCode(2011, "eventStreamFailed", "reconnectLimit")
        case .eventStreamRetryRefused: FailureCode(2012, "eventStreamFailed", "retryRefused")
        case .webSocketHandshakeRefused: FailureCode(2000, "webSocketFailed", "handshakeRefused")
        case .webSocketClosedByPeer: FailureCode(2001, "webSocketFailed", "closedByPeer")
        case .webSocketMessageTooBig: FailureCode(2002, "webSocketFailed", "messageTooBig")
        case .webSocketProtocolError: FailureCode(2003, "webSocketFailed", "protocolError")
        case .webSocketPingTimeout: FailureCode(2004, "webSocketFailed", "pingTimeout")
        case .webSocketQueueFull: FailureCode(2005, "webSocketFailed", "sendQueueFull")
        case .webSocketReconnectLimit: FailureCode(2006, "webSocketFailed", "reconnectLimit")
        case .tcpClosed: FailureCode(2020, "tcpFailed", "closed")
        case .writeAfterFinish: FailureCode(2021, "tcpFailed", "writeAfterFinish")
        case .tlsUpgradeFailed: FailureCode(2022, "tcpFailed", "tlsUpgradeFailed")
        case .replayMiss: FailureCode(2200, "replayFailed", "replayMiss")
        case .cassetteUnusable: FailureCode(2201, "replayFailed", "cassetteUnusable")
        case .replayMismatch: FailureCode(2202, "replayFailed", "replayMismatch")
        case .stubMiss: FailureCode(2203, "replayFailed", "stubMiss")
        case .unknownEndpoint: FailureCode(2100, "routerFailed", "unknownEndpoint")
        case .missingPathParameter: FailureCode(2101, "routerFailed", "missingPathParameter")
        case .parametersDoNotFit: FailureCode(2102, "routerFailed", "parametersDoNotFit")
        }
    }
}
