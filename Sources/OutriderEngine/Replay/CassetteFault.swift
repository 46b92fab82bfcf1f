// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderHTTP

extension HTTPFailure {
    /// A cassette that cannot be used, and why.
    static func unusableCassette(_ path: String, _ why: String, posix: CInt? = nil) -> HTTPFailure {
        HTTPFailure(
            .cassetteUnusable, "the cassette \(path): \(why)", retryable: false,
            // safe: CInt is narrower
            underlying: posix.map { .init(.file, Int($0), String(cString: strerror($0))) }, details: [.path(path)])
    }
}

extension CassetteReader {
    /// The contents of a cassette. Throws `cassetteUnusable`.
    static func read(_ bytes: [UInt8], of path: String) throws(HTTPFailure) -> Contents {
        do throws(Fault) {
            return try read(bytes)
        } catch {
            throw .unusableCassette(path, error.message)
        }
    }
}
