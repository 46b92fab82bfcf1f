// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// A detail of a failure for programs, beside its kind; FailureData in the contract names each detail.
package enum FailureDetail: Sendable, Equatable {
    /// The status that was not acceptable.
    case status(Int)
    /// The acceptable media types, in alphabetical order.
    case acceptable([String])
    /// The received Content-Type.
    case contentType(String)
    /// The charset in which the text could not be decoded.
    case encoding(String)
    /// The file at fault.
    case path(String)
    /// The place of the fault in the response body, as an RFC 6901 pointer.
    case instancePointer(String)
    /// The wrapped failure.
    case cause(HTTPFailure)
    /// The failure that was to be retried.
    case originalError(HTTPFailure)
    /// The retrier's error, unchanged.
    case retryError(JSONValue)
    /// The client's own error, unchanged.
    case error(JSONValue)
    /// The file that should have been moved to the path.
    case source(String)
    /// The algorithm of a digest.
    case algorithm(String)
    /// The expected value: a digest, or the version of a resource.
    case expected(String)
    /// The value received instead.
    case actual(String)
    /// Required bytes in the file system.
    case needed(Int64)
    /// Available bytes.
    case available(Int64)
    /// The name of the credential that has no token.
    case credential(String)
    /// Why the token is missing.
    case oauth(OAuthFailure)
    /// The proxy, as host and port.
    case proxy(String)
    /// The fields of the refusing response.
    case headers(HTTPFields)
    /// The code of the received or sent Close frame.
    case closeCode(Int)
    /// The pins of the verified path, ready to be copied: of certificates or keys, the server's first.
    case pins([String])
    /// The TLS alert that the server sent, as its name in RFC 8446.
    case alert(String)
    /// The resume data for `download.resume`.
    case resumeData(String)
}
