// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import CLinux
import Crypto
import Glibc
import OutriderHTTP

/// Gets the key of a store, in the helper. Commands have a time limit, and no source falls back to another.
enum KeyRing {
    static let keyBytes = 32

    static func key(from source: KeySource, for directory: String) throws(OAuthFailure) -> SymmetricKey {
        switch source {
        case .none: throw .noKeyProvider
        case .raw(let text): return try key(text.exposed, "the service")
        case .file(let path): return try fromFile(path)
        case .command(let words): return try key(output(of: words, seconds: 5), words.first ?? "")
        case .secretService:
            let words = ["secret-tool", "lookup"] + attributes(directory)
            return try key(output(of: words, seconds: 3), "the Secret Service")
        case .passphrase:
            let found = KernelKeys.read(KernelKeys.name(directory), most: keyBytes)
            guard let bytes = found, bytes.count == keyBytes else {
                throw locked("run outrider credentials unlock")
            }
            return SymmetricKey(data: bytes)
        }
    }

    /// The attributes of a store's key in the Secret Service.
    static func attributes(_ directory: String) -> [String] {
        ["application", "outrider", "store", directory]
    }

    private static func fromFile(_ path: String) throws(OAuthFailure) -> SymmetricKey {
        guard let isPrivate = StoreFile.isPrivate(path) else { throw locked("\(path) cannot be read") }
        guard isPrivate else {
            throw OAuthFailure(
                .store, "store_unsafe", "the key file \(path) must be our own with mode 0600: chmod 600 \(path)")
        }
        guard let bytes = try StoreFile.read(path) else { throw locked("\(path) cannot be read") }
        if bytes.count == keyBytes { return SymmetricKey(data: bytes) }
        return try key(String(decoding: bytes, as: UTF8.self), path)
    }

    /// Parses 32 bytes in hexadecimal, on the first line.
    private static func key(_ text: String, _ source: String) throws(OAuthFailure) -> SymmetricKey {
        let line = text.prefix { !$0.isNewline }.filter { $0 != " " && $0 != "\t" }
        if let bytes = bytes(hex: line), bytes.count == keyBytes {
            return SymmetricKey(data: bytes)
        }
        throw locked("\(source) gives no 32 bytes in hexadecimal: 64 digits")
    }

    private static func bytes(hex text: some StringProtocol) -> [UInt8]? {
        let digits = text.compactMap(\.hexDigitValue)
        guard digits.count == text.count, digits.count % 2 == 0 else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { index in
            UInt8(truncatingIfNeeded: digits[index] << 4 | digits[index + 1])
        }
    }

    private static func output(of words: [String], seconds: Double) throws(OAuthFailure) -> String {
        switch ChildProcess.run(words, seconds: seconds) {
        case .ended(0, let output): return String(decoding: output, as: UTF8.self)
        case .ended(let status, _): throw locked("\(words.first ?? "") ended with status \(status)")
        case .tooMuch: throw locked("\(words.first ?? "") printed more than a key")
        case .tooLong: throw locked("\(words.first ?? "") did not respond within \(Int(seconds)) seconds")
        case .notStarted(let code):
            throw locked("\(words.first ?? "") cannot be run: \(String(cString: strerror(code)))")
        }
    }

    static func locked(_ why: String) -> OAuthFailure {
        OAuthFailure(
            .store, OAuthFailure.lockedReason,
            "the key of the credentials cannot be had: \(why); see outrider credentials key, and if it is lost for good "
                + "outrider credentials forget --lost-key")
    }
}

/// The keyring that the kernel keeps for this user until the machine stops; containers may have none.
enum KernelKeys {
    static func name(_ directory: String) -> String { "outrider:\(directory)" }

    /// Nil if the key is missing, or longer.
    static func read(_ name: String, most: Int) -> [UInt8]? {
        let key = outrider_key_find(name)
        guard key >= 0 else { return nil }
        var size = -1
        let bytes = [UInt8](unsafeUninitializedCapacity: most) { buffer, used in
            size = outrider_key_read(key, buffer.baseAddress, buffer.count)
            used = min(max(0, size), most)
        }
        return (0...most).contains(size) ? bytes : nil
    }

    /// False if the kernel has no keyrings, or refuses.
    static func put(_ name: String, _ bytes: [UInt8]) -> Bool {
        outrider_key_put(name, bytes, bytes.count) >= 0
    }

    static func forget(_ name: String) {
        let key = outrider_key_find(name)
        if key >= 0 { _ = outrider_key_forget(key) }
    }
}

extension OAuthFailure {
    /// Of a store whose key is not available.
    static let lockedReason = "store_locked"
    /// Of a store that is sealed with another key than the available one.
    static let wrongKeyReason = "wrong_key"

    static let noKeyProvider = OAuthFailure(
        .store, "no_key_provider",
        "no key provider is chosen, so credentials are kept in memory only; choose one with outrider credentials key: "
            + "file, command, secret-service or passphrase")
}
