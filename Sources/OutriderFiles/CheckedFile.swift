// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import Glibc

/// Opens files without waiting, and checks the open file before any byte of it is read or written.
///
/// A path in a directory that other users may write to can lead to a pipe without a writer, a device, a link, or a file that
/// another user owns. `O_NONBLOCK` keeps the open from waiting; `fstat` then describes the file that was opened, whatever the
/// path leads to by now.
package enum CheckedFile {
    /// Requirements on an open file.
    package struct Rules: OptionSet, Sendable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// A regular file: no directory, pipe, socket or device.
        package static let regular = Rules(rawValue: 1)
        /// Owned by the effective user of this process.
        package static let owned = Rules(rawValue: 2)
        /// Without a second name (hard link).
        package static let singleName = Rules(rawValue: 4)
        /// Not reached through a symbolic link in the last part of the path.
        package static let noLink = Rules(rawValue: 8)

        /// Requirements on files that Outrider makes for itself: journals, locks, logs.
        package static let own: Rules = [.regular, .owned, .singleName, .noLink]
    }

    /// A descriptor of the file, which the caller closes.
    ///
    /// - Parameters:
    ///   - directory: where a relative path begins; the working directory by default.
    ///   - flags: the access mode, and of the others `O_CREAT`, `O_EXCL`, `O_APPEND`, `O_TRUNC` and `O_DIRECTORY`. The file is
    ///     truncated only after it was checked.
    ///   - mode: the permissions of a new file, less the umask.
    package static func open(
        _ path: String, in directory: CInt = AT_FDCWD, _ flags: CInt, _ rules: Rules, mode: mode_t = 0o600
    ) throws(FileFault) -> CInt {
        let added = O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (rules.contains(.noLink) ? O_NOFOLLOW : 0)
        let file = openat(directory, path, flags & ~O_TRUNC | added, mode)
        guard file >= 0 else { throw FileFault(opening: errno, rules) }
        if let fault = fault(of: file, rules) {
            close(file)
            throw fault
        }
        guard flags & O_TRUNC == 0 || ftruncate(file, 0) == 0 else {
            let code = errno
            close(file)
            throw .system(code)
        }
        return file
    }

    /// The first requirement that the open file does not meet.
    package static func fault(of file: CInt, _ rules: Rules) -> FileFault? {
        var info = stat()
        guard fstat(file, &info) == 0 else { return .system(errno) }
        if rules.contains(.regular), info.st_mode & S_IFMT != S_IFREG { return .notRegular(info.st_mode & S_IFMT) }
        if rules.contains(.owned), info.st_uid != geteuid() { return .foreign(info.st_uid) }
        if rules.contains(.singleName), info.st_nlink > 1 { return .linked }
        return nil
    }
}

/// The reason why a file was not opened.
package enum FileFault: Error, Equatable {
    /// An error of the system, with `errno`.
    case system(CInt)
    /// Not a regular file, with the file type bits of its mode (`S_IFMT`).
    case notRegular(mode_t)
    /// Owned by another user, with the uid.
    case foreign(UInt32)
    /// A file with a second name.
    case linked

    fileprivate init(opening code: CInt, _ rules: CheckedFile.Rules) {
        self =
            switch code {
            // a pipe without a reader, or a socket
            case ENXIO where rules.contains(.regular): .notRegular(0)
            case ELOOP where rules.contains(.noLink): .notRegular(S_IFLNK)
            case EISDIR where rules.contains(.regular): .notRegular(S_IFDIR)
            default: .system(code)
            }
    }

    /// The closest error number of the system.
    package var code: CInt {
        switch self {
        case .system(let code): code
        case .notRegular(S_IFDIR): EISDIR
        case .notRegular(S_IFLNK): ELOOP
        case .notRegular: EINVAL
        case .foreign: EACCES
        case .linked: EMLINK
        }
    }

    /// "remove it, or ", in front of another remedy; empty if a new file at the path would be no better.
    package var removal: String {
        if case .system(let code) = self, code != EACCES { return "" }
        return "remove it, or "
    }
}

extension FileFault: CustomStringConvertible {
    /// A phrase that follows the path and a colon.
    package var description: String {
        switch self {
        case .system(let code): String(cString: strerror(code)).lowercased()
        case .notRegular(let kind): "it is \(Self.name(of: kind)), not a regular file"
        case .foreign(let user): "it belongs to user \(user), not to user \(geteuid())"
        case .linked: "it has a second name (hard link)"
        }
    }

    private static func name(of kind: mode_t) -> String {
        switch kind {
        case S_IFLNK: "a symbolic link"
        case S_IFDIR: "a directory"
        case S_IFIFO: "a pipe"
        case S_IFSOCK: "a socket"
        case S_IFCHR, S_IFBLK: "a device"
        default: "a pipe, socket or device"
        }
    }
}
