// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderFiles
import Synchronization

/// A listening Unix socket in the file system, and a lock file beside it that names the owner.
///
/// Only the holder of the lock may remove a socket, and only a socket that refuses connections; so no live service ever
/// loses its socket to a second service. The lock file stays for ever; the kernel frees the lock when its holder dies.
final class SocketFile: Sendable {
    let path: String
    let place: SocketPath
    private let released = Atomic(false)
    /// A listening socket; the listener takes ownership.
    let descriptor: Int32
    private let lock: Int32
    private let device: UInt
    private let inode: UInt

    /// - Parameter letsOthersIn: other users may connect; the listener then checks the user of each connection.
    init(_ place: SocketPath, letsOthersIn: Bool = false) throws(StartFailure) {
        try place.prepareDirectory()
        self.place = place
        path = place.path
        lock = try Self.lock(place.path)
        do throws(StartFailure) {
            try Self.removeStale(place.path)
            descriptor = try Self.listen(place.path, letsOthersIn: letsOthersIn)
        } catch {
            close(lock)
            throw error
        }
        var info = stat()
        lstat(path, &info)
        device = info.st_dev
        inode = info.st_ino
    }

    var directory: String { place.directory }

    /// Whether the path still leads to this socket.
    var isInPlace: Bool {
        var info = stat()
        return lstat(path, &info) == 0 && info.st_ino == inode && info.st_dev == device
    }

    /// Whether the socket and its lock have been released.
    var isReleased: Bool { released.load(ordering: .acquiring) }

    /// Removes the socket, if the path still leads to it, and releases the lock. A second call has no effect.
    func remove() {
        if released.exchange(true, ordering: .acquiringAndReleasing) { return }
        if isInPlace { unlink(path) }
        close(lock)
    }

    // MARK: steps

    private static func lock(_ path: String) throws(StartFailure) -> Int32 {
        let file = path + ".lock"
        let lock: Int32
        do throws(FileFault) {
            lock = try CheckedFile.open(file, O_RDWR | O_CREAT, .own)
        } catch {
            throw StartFailure(
                "the lock file \(file) cannot be used: \(error) (\(error.removal)choose another path with --socket)")
        }
        guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
            let holder = holder(lock)
            close(lock)
            throw running(path, holder)
        }
        let text = "\(getpid())\n"
        _ = ftruncate(lock, 0)
        _ = text.utf8CString.withUnsafeBytes { pwrite(lock, $0.baseAddress, text.utf8.count, 0) }
        return lock
    }

    private static func holder(_ lock: Int32) -> Int? {
        var bytes = [UInt8](repeating: 0, count: 32)
        let count = pread(lock, &bytes, bytes.count, 0)
        let digits = bytes.prefix(max(0, count)).prefix { $0 >= 0x30 && $0 <= 0x39 }
        return Int(String(decoding: digits, as: UTF8.self))
    }

    private static func running(_ path: String, _ holder: Int?) -> StartFailure {
        let who = holder.map { "process \($0)" } ?? "another process"
        return StartFailure(
            "\(who) already serves \(path); use that one, or choose another path with --socket",
            exitStatus: StartFailure.alreadyRunning)
    }

    private static func removeStale(_ path: String) throws(StartFailure) {
        var info = stat()
        guard lstat(path, &info) == 0 else {
            if errno == ENOENT { return }
            throw StartFailure("\(path) cannot be looked at: \(errnoText())")
        }
        guard info.st_mode & S_IFMT == S_IFSOCK else {
            throw StartFailure("\(path) exists and is no socket; remove it, or choose another path with --socket")
        }
        let probe = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard probe >= 0 else { throw StartFailure("no socket can be made: \(errnoText())") }
        defer { close(probe) }
        if withAddress(path, { connect(probe, $0, $1) }) == 0 { throw running(path, nil) }
        guard errno == ECONNREFUSED else {
            throw StartFailure("\(path) exists, and whether it is in use cannot be found out: \(errnoText())")
        }
        guard unlink(path) == 0 else { throw StartFailure("the stale \(path) cannot be removed: \(errnoText())") }
    }

    private static let binding = Mutex(())

    private static func listen(_ path: String, letsOthersIn: Bool) throws(StartFailure) -> Int32 {
        let flags = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let descriptor = socket(AF_UNIX, flags, 0)
        guard descriptor >= 0 else { throw StartFailure("no socket can be made: \(errnoText())") }
        // the mode counts from the moment of the bind; the mask is one for the process
        let (bound, reason) = binding.withLock { _ in
            let mask = umask(letsOthersIn ? 0o111 : 0o177)
            defer { umask(mask) }
            return (withAddress(path) { bind(descriptor, $0, $1) }, errnoText())
        }
        guard bound == 0, Glibc.listen(descriptor, 512) == 0 else {
            close(descriptor)
            throw StartFailure("\(path) cannot be listened on: \(reason)")
        }
        return descriptor
    }

    private static func withAddress(
        _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { space in
            space.copyBytes(from: path.utf8.prefix(SocketPath.longest))
        }
        return withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
