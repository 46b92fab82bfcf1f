// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Crypto
import OutriderHTTP

/// Computes several digests of the same bytes incrementally.
struct DigestRunner {
    private enum Work {
        case sha256(SHA256)
        case sha384(SHA384)
        case sha512(SHA512)
        case sha1(Insecure.SHA1)
        case md5(Insecure.MD5)

        init(_ algorithm: Checksum.Algorithm) {
            switch algorithm {
            case .sha256: self = .sha256(SHA256())
            case .sha384: self = .sha384(SHA384())
            case .sha512: self = .sha512(SHA512())
            case .sha1: self = .sha1(Insecure.SHA1())
            case .md5: self = .md5(Insecure.MD5())
            }
        }

        mutating func update(_ bytes: UnsafeRawBufferPointer) {
            switch self {
            case .sha256(var work):
                work.update(bufferPointer: bytes)
                self = .sha256(work)
            case .sha384(var work):
                work.update(bufferPointer: bytes)
                self = .sha384(work)
            case .sha512(var work):
                work.update(bufferPointer: bytes)
                self = .sha512(work)
            case .sha1(var work):
                work.update(bufferPointer: bytes)
                self = .sha1(work)
            case .md5(var work):
                work.update(bufferPointer: bytes)
                self = .md5(work)
            }
        }

        var bytes: [UInt8] {
            switch self {
            case .sha256(let work): Array(work.finalize())
            case .sha384(let work): Array(work.finalize())
            case .sha512(let work): Array(work.finalize())
            case .sha1(let work): Array(work.finalize())
            case .md5(let work): Array(work.finalize())
            }
        }
    }

    private var works: [(algorithm: Checksum.Algorithm, work: Work)] = []
    /// The number of bytes so far.
    private(set) var count: Int64 = 0

    init(_ algorithms: Set<Checksum.Algorithm> = []) {
        for algorithm in Checksum.Algorithm.allCases where algorithms.contains(algorithm) {
            works.append((algorithm, Work(algorithm)))
        }
    }

    var isEmpty: Bool { works.isEmpty }

    var algorithms: Set<Checksum.Algorithm> { Set(works.map(\.algorithm)) }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        for index in works.indices { works[index].work.update(bytes) }
        count &+= Int64(bytes.count)
    }

    /// The digest of all bytes so far.
    func digest(_ algorithm: Checksum.Algorithm) -> [UInt8]? {
        works.first { $0.algorithm == algorithm }?.work.bytes
    }
}
