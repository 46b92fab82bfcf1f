// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A text that is never displayed: a token, a client secret, a passphrase. Its bytes are in a `SecretBuffer` that all
/// copies share, and are compared in constant time.
package struct Secret: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    private final class Storage: Sendable {
        let buffer: SecretBuffer

        init(_ buffer: consuming SecretBuffer) { self.buffer = buffer }
    }

    private let storage: Storage

    /// The text displayed in place of a secret.
    package static let mask = "***"

    package init(_ buffer: consuming SecretBuffer) { storage = Storage(buffer) }

    /// Copies a text, which itself stays in ordinary memory: only for text that was made or received here.
    package init(_ text: String) {
        var buffer = SecretBuffer(capacity: text.utf8.count)
        buffer.append(contentsOf: text.utf8)
        self.init(buffer)
    }

    /// Copies bytes, which must be UTF-8 if they are ever exposed.
    package init(copying bytes: UnsafeRawBufferPointer) { self.init(SecretBuffer(copying: bytes)) }

    /// Decodes the text between the quotes of a valid JSON string (RFC 8259 section 7), without a further copy.
    package init(unescaping bytes: UnsafeBufferPointer<UInt8>) {
        var buffer = SecretBuffer(capacity: bytes.count)
        JSONEscapes.decode(bytes) { buffer.append(UnsafeRawBufferPointer($0)) }
        self.init(buffer)
    }

    /// Length of the UTF-8 text in bytes.
    package var count: Int { storage.buffer.count }

    package func withBytes<Result, Failure: Error>(
        _ body: (UnsafeBufferPointer<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try storage.buffer.withBytes(body)
    }

    /// Copies the text to ordinary memory: only for a process that ends soon, or for a token in a request.
    package var exposed: String { withBytes { String(decoding: $0, as: UTF8.self) } }

    package static func == (left: Secret, right: Secret) -> Bool {
        left.withBytes { one in
            right.withBytes { other in
                guard one.count == other.count else { return false }
                return zip(one, other).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
            }
        }
    }

    package func hash(into hasher: inout Hasher) { withBytes { hasher.combine(bytes: UnsafeRawBufferPointer($0)) } }

    package var description: String { Self.mask }
    package var debugDescription: String { Self.mask }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
