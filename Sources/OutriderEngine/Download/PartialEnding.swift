// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderFiles
import OutriderHTTP
import Synchronization

/// The end of a partial file: published, verified or removed. All calls block.
extension PartialFile {
    private static let pieceBytes = 1 << 20

    /// Publishes the complete file: syncs first, then moves, so that after any crash the name stands for the whole file
    /// or none. Throws the errors of `DownloadPlace.take`, and `fileWriteFailed`; then the partial file stays.
    func publish(to place: DownloadPlace) throws(HTTPFailure) {
        try place.check()
        try checkLength()
        try sync(fsync)
        guard isNamed == true else { throw removed(on: place.path) }
        do throws(HTTPFailure) {
            try place.take(name, from: home)
        } catch {
            guard error.underlying?.code == Int(EXDEV) else { throw error }
            try copy(to: place)
        }
        place.sync()
        _ = close()
    }

    /// Copies the file to another file system: into a partial file beside the destination, like a download.
    private func copy(to place: DownloadPlace) throws(HTTPFailure) {
        let copy = try PartialFile(in: place, url: journal.url)
        try copy.reset { _ in }
        do throws(HTTPFailure) {
            var offset: Int64 = 0
            while let piece = try read(at: offset) {
                try copy.append(piece, at: offset)
                offset &+= Int64(piece.count)
            }
            try copy.sync(fsync)
            try place.take(copy.name, from: place)
        } catch {
            copy.discard()
            throw error
        }
        _ = copy.close()
        discard()
    }

    private func append(_ bytes: [UInt8], at offset: Int64) throws(HTTPFailure) {
        guard FileBytes.write(bytes, to: descriptor, at: Int(offset)) else {
            throw Self.failure("could not write \(path)", path)
        }
    }

    /// Throws `fileWriteFailed` if another program has made the file shorter, and drops what is missing: the next write
    /// behind the end would leave a hole of zeros.
    func checkLength() throws(HTTPFailure) {
        // first, since another range may be written meanwhile
        let end = held.end
        var info = stat()
        guard fstat(descriptor, &info) == 0, Int64(info.st_size) < end else { return }
        drop(Int64(info.st_size)..<end)
        throw HTTPFailure(
            .fileWriteFailed,
            "another program made \(HTTPFailure.excerpt(path)) shorter during the download: resume the download",
            details: [.path(path)])
    }

    /// Removes the file and its journal, unless the name stands for the file of another download.
    func discard() {
        if isNamed == false { return letGo() }
        if close() { home.remove(name) }
    }

    /// Whether the name stands for this file; nil if it stands for none, since another program has removed the file or
    /// its directory.
    var isNamed: Bool? {
        var (opened, named) = (stat(), stat())
        guard fstat(descriptor, &opened) == 0,
            fstatat(home.descriptor, self.name, &named, AT_SYMLINK_NOFOLLOW) == 0
        else { return nil }
        return opened.st_ino == named.st_ino && opened.st_dev == named.st_dev
    }

    private func removed(on destination: String) -> HTTPFailure {
        HTTPFailure(
            .downloadedFileMoveFailed,
            "\(HTTPFailure.excerpt(path)) was removed during the download: make sure that its directory exists, and "
                + "begin again", details: [.path(destination)])
    }

    /// Nil at the end.
    private func read(at offset: Int64) throws(HTTPFailure) -> [UInt8]? {
        guard let piece = FileBytes.read(descriptor, at: Int(offset), most: Self.pieceBytes) else {
            throw Self.failure("could not read \(path)", path)
        }
        return piece.isEmpty ? nil : piece
    }

    /// Feeds the digests with bytes that they have not seen, up to `end`.
    func catchUp(_ algorithms: Set<Checksum.Algorithm>, to end: Int64) throws(HTTPFailure) {
        var work = digests.withLock { $0 }
        if work.algorithms != algorithms || work.count > end { work = DigestRunner(algorithms) }
        if work.isEmpty { return digests.withLock { $0 = work } }
        try show(0..<end, to: &work)
        digests.withLock { $0 = work }
    }

    /// Feeds the rest of a range to a runner that has seen its first bytes.
    private func show(_ range: Range<Int64>, to work: inout DigestRunner) throws(HTTPFailure) {
        while range.lowerBound &+ work.count < range.upperBound,
            let piece = try read(at: range.lowerBound &+ work.count)
        {
            let most = Int(clamping: range.upperBound &- range.lowerBound &- work.count)
            piece.withUnsafeBytes { work.update(UnsafeRawBufferPointer(rebasing: $0.prefix(most))) }
        }
    }

    /// Throws `checksumMismatch` at the first digest that does not match, and drops the range from the held ranges.
    func check(_ checksums: [Checksum], of range: Range<Int64>) throws(HTTPFailure) {
        var work = DigestRunner(Set(checksums.map(\.algorithm)))
        try show(range, to: &work)
        for checksum in checksums {
            let actual = work.digest(checksum.algorithm) ?? []
            guard actual != checksum.bytes else { continue }
            drop(range)
            throw checksum.mismatch(actual, in: range)
        }
    }

    /// Throws `checksumMismatch` at the first digest that does not match the file.
    func check(_ checksums: [Checksum]) throws(HTTPFailure) {
        guard !checksums.isEmpty else { return }
        try catchUp(digests.withLock { $0.algorithms }.union(checksums.map(\.algorithm)), to: held.count)
        for checksum in checksums {
            let actual = digests.withLock { $0.digest(checksum.algorithm) } ?? []
            if actual != checksum.bytes { throw checksum.mismatch(actual) }
        }
    }

    /// The whole content, for a short file that is not published.
    func bytes() throws(HTTPFailure) -> [UInt8] {
        var all: [UInt8] = []
        while let piece = try read(at: Int64(all.count)) { all += piece }
        return all
    }
}
