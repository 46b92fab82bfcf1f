// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderHTTP

/// The sizes of a body's files, looked up away from the event loop.
struct BodySizes: Sendable {
    /// Of a body that is a file.
    var file: Int64?
    /// Of the files in a form, by the index of their part.
    var parts: [Int: Int64] = [:]

    static func of(_ body: BodySpec, for client: ClientKey) async throws(HTTPFailure) -> BodySizes {
        switch body.content {
        case .file(let path): BodySizes(file: try await fileSize(path, client))
        case .multipart(let form): BodySizes(parts: try await partSizes(form, for: client))
        default: BodySizes()
        }
    }

    private static func fileSize(_ path: String, _ client: ClientKey) async throws(HTTPFailure) -> Int64? {
        do {
            let size = try await offLoop(for: client) { () throws(HTTPFailure) -> Int64? in
                let size = try PosixFile.regularSize(of: path)
                if size == 0, try PosixFile.hasHiddenContent(path) {
                    throw HTTPFailure(.createUploadableFailed, hidden(path))
                }
                return size
            }
            if let size { return size }
        } catch {
            throw HTTPFailure(
                .createUploadableFailed, error.message, underlying: error.underlying, pointer: "/body/file")
        }
        throw HTTPFailure(
            .createUploadableFailed, "\(path) is not a regular file (give the bytes of a pipe or a device as a stream)",
            pointer: "/body/file")
    }

    /// Throws for the first part at fault.
    static func partSizes(
        _ form: MultipartForm, for client: ClientKey
    ) async throws(HTTPFailure) -> [Int: Int64] {
        guard form.parts.contains(where: { if case .file = $0.content { true } else { false } }) else { return [:] }
        return try await offLoop(for: client) { () throws(HTTPFailure) in
            var sizes: [Int: Int64] = [:]
            for (index, part) in form.parts.enumerated() {
                guard case .file(let path) = part.content else { continue }
                let pointer = "\(form.place)/\(index)/\(part.key)"
                if let failure = MultipartLayout.fault(inPath: path, of: part, at: pointer) { throw failure }
                sizes[index] = try partSize(path, part, pointer)
            }
            return sizes
        }
    }

    private static func partSize(
        _ path: String, _ part: MultipartForm.Part, _ pointer: String
    ) throws(HTTPFailure) -> Int64 {
        let what = "the file \(path) of \(MultipartLayout.shown(part))"
        var info = stat()
        if stat(path, &info) != 0 {
            let code = errno
            throw switch code {
            case ENOENT, ENOTDIR:
                failure(.bodyPartFileNotReachable, "\(what) does not exist", code, path, pointer)
            case EOVERFLOW, EIO:
                failure(.bodyPartFileSizeQueryFailed, "the size of \(what) cannot be found", code, path, pointer)
            default: failure(.bodyPartFileNotReachableWithError, "\(what) cannot be reached", code, path, pointer)
            }
        }
        switch info.st_mode & S_IFMT {
        case S_IFDIR: throw failure(.bodyPartFileIsDirectory, "\(what) is a directory", nil, path, pointer)
        case S_IFREG: break
        default:
            throw failure(
                .bodyPartFileSizeNotAvailable, "\(what) is not a regular file and has no size", nil, path, pointer)
        }
        guard access(path, R_OK) == 0 else {
            throw failure(.bodyPartInputStreamCreationFailed, "\(what) cannot be opened", errno, path, pointer)
        }
        if info.st_size == 0, try PosixFile.hasHiddenContent(path) {
            throw failure(.bodyPartFileSizeNotAvailable, hidden(path), nil, path, pointer)
        }
        return Int64(info.st_size)  // safe: off_t is 64 bits wide
    }

    private static func hidden(_ path: String) -> String {
        "\(path) has content, but its size is given as 0, as in /proc: send a copy of the file, or a stream"
    }

    private static func failure(
        _ kind: HTTPFailure.Kind, _ text: String, _ code: CInt?, _ path: String, _ pointer: String
    ) -> HTTPFailure {
        let reason = code.map { String(cString: strerror($0)) }
        let underlying = code.flatMap { code in
            // safe: CInt is narrower
            reason.map { HTTPFailure.Underlying(.posix, Int(code), $0) }
        }
        let shows = kind != .bodyPartFileNotReachable
        let message = shows ? reason.map { "\(text): \($0.lowercased())" } ?? text : text
        return HTTPFailure(kind, message, underlying: underlying, pointer: pointer, details: [.path(path)])
    }
}
