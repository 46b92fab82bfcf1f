// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import NIOCore
import OutriderHTTP
import OutriderTransport

/// The destination of an encoded form.
package enum FormDestination: Sendable {
    /// Into memory; into a private file if longer.
    case memory(most: Int)
    /// Into a private file, kept until released.
    case kept
    /// Into a new file of the caller's.
    case path(String)
}

/// An encoded form.
package struct EncodedForm: Sendable {
    package enum Place: Sendable {
        case memory([UInt8])
        case kept(KeptBody)
        case path(String)
    }

    package var place: Place
    package var size: Int
    /// The bytes of the parts alone.
    package var contentLength: Int64

    static func make(
        _ form: MultipartForm, _ destination: FormDestination, _ store: BodyStore
    ) async throws(HTTPFailure) -> EncodedForm {
        let form = form.resolved(home: homeDirectory())
        let layout = try await layout(form, for: store.quota.client)
        defer { layout.body.drop() }
        var source = FormPieces(layout.pieces, for: store.quota.client)
        let total = layout.body.size
        if case .path(let path) = destination {
            let size = try await write(&source, to: path)
            return EncodedForm(place: .path(path), size: size, contentLength: layout.partBytes &+ source.fed)
        }
        var most = 0
        if case .memory(let limit) = destination { most = limit }
        var memory: [UInt8] = []
        var sink = BodySink(.file, maxInline: 0, store: store)
        var isKept = total.map { $0 > Int64(most) } ?? false  // safe: an Int is an Int64
        if case .kept = destination { isKept = true }
        // not copied as a whole again
        if !isKept, let total { memory.reserveCapacity(Int(clamping: total)) }
        while let piece = try await source.next() {
            if !isKept, memory.count + piece.readableBytes > most {
                isKept = true
                if !memory.isEmpty { try await keep(ByteBuffer(bytes: memory), in: &sink, for: destination) }
                memory = []
            }
            guard isKept else {
                memory.append(contentsOf: piece.readableBytesView)
                continue
            }
            try await keep(piece, in: &sink, for: destination)
        }
        let parts = layout.partBytes &+ source.fed
        guard isKept else {
            return EncodedForm(place: .memory(memory), size: memory.count, contentLength: parts)
        }
        let size = sink.size
        let stored: ExchangeOutcome.Body
        do throws(HTTPFailure) {
            stored = try await sink.end(keeping: true, contentType: form.contentType)
        } catch {
            throw unwritten(error, destination)
        }
        guard case .kept(let body) = stored else {
            return EncodedForm(place: .memory([]), size: 0, contentLength: 0)
        }
        return EncodedForm(place: .kept(body), size: size, contentLength: parts)
    }

    private static func keep(
        _ piece: ByteBuffer, in sink: inout BodySink, for destination: FormDestination
    ) async throws(HTTPFailure) {
        do throws(HTTPFailure) {
            try await sink.keep(piece)
        } catch {
            throw unwritten(error, destination)
        }
    }

    /// The failure to write a private file: the parameter that leads to the file is at fault, not the service.
    private static func unwritten(_ error: HTTPFailure, _ destination: FormDestination) -> HTTPFailure {
        guard !error.retryable else { return error }
        var failure = error
        if error.kind != .limitExceeded {
            failure.kind = isOfOpening(error.underlying?.code) ? .outputStreamCreationFailed : .outputStreamWriteFailed
            failure.message += " (give path for a file elsewhere)"
        }
        failure.pointer = "/parts"
        if case .kept = destination { failure.pointer = "/to" }
        return failure
    }

    /// The layout copies the bytes of the parts, and looks for a given boundary in them.
    private static func layout(
        _ form: MultipartForm, for client: ClientKey
    ) async throws(HTTPFailure) -> MultipartLayout {
        let sizes = try await BodySizes.partSizes(form, for: client)
        guard form.takesLong else { return try MultipartLayout(form, fileSizes: sizes) }
        return try await compute(for: client) { () throws(HTTPFailure) in try MultipartLayout(form, fileSizes: sizes) }
    }

    /// Writes the file atomically; removes an incomplete file.
    private static func write(_ source: inout FormPieces, to path: String) async throws(HTTPFailure) -> Int {
        guard path.hasPrefix("/"), !path.utf8.contains(0) else {
            throw HTTPFailure(
                .outputStreamURLInvalid, "path must be absolute, not \(FieldRules.shown(path))", pointer: "/path",
                details: [.path(path)])
        }
        let temporary = "\(path).outrider-\(getpid())-\(UInt32.random(in: 0...UInt32.max))"
        let file = try await output(path, for: source.client) { () throws(HTTPFailure) in
            var info = stat()
            if lstat(path, &info) == 0 {
                throw HTTPFailure(.destinationExists, "\(path) exists already; choose another path")
            }
            return OpenFile(try PosixFile(creating: temporary, for: path))
        }
        var size = 0
        do throws(HTTPFailure) {
            while let piece = try await source.next() {
                let bytes = Array(buffer: piece)
                size += bytes.count
                try await output(path, for: source.client) { () throws(HTTPFailure) in
                    try file.file.write(bytes, path: path)
                }
            }
            try await output(path, for: source.client) { () throws(HTTPFailure) in
                try file.file.sync(path: path)
                try AtomicFile.move(temporary, to: path, replace: false)
            }
        } catch {
            if unlink(temporary) == 0 { file.file.empty() }
            throw error
        }
        return size
    }

    private static func output<Value: Sendable>(
        _ path: String, for client: ClientKey, _ work: @escaping @Sendable () throws(HTTPFailure) -> Value
    ) async throws(HTTPFailure) -> Value {
        do throws(HTTPFailure) {
            return try await offLoop(for: client, work)
        } catch {
            var failure = error
            failure.kind =
                switch error.kind {
                case .destinationExists: .outputStreamFileAlreadyExists
                default: isOfOpening(error.underlying?.code) ? .outputStreamCreationFailed : .outputStreamWriteFailed
                }
            failure.pointer = "/path"
            failure.details = [.path(path)]
            throw failure
        }
    }

    private static func isOfOpening(_ code: Int?) -> Bool {
        let codes = [ENOENT, ENOTDIR, EACCES, EPERM, EROFS, EISDIR, ELOOP, ENAMETOOLONG]
        return code.map { code in codes.contains { Int($0) == code } } ?? false  // safe: CInt is narrower
    }
}

extension MultipartForm {
    /// Parts that are laid out on the event loop, and their bytes: 256 KiB.
    private static let (mostShort, mostBytes) = (100, 256 << 10)

    /// Whether laying the form out takes long: it has many parts, or many bytes in them.
    var takesLong: Bool {
        if parts.count > Self.mostShort { return true }
        let bytes = parts.reduce(0) { if case .bytes(let bytes) = $1.content { $0 + bytes.count } else { $0 } }
        return bytes > Self.mostBytes
    }
}

/// The bytes of a form, piece by piece.
struct FormPieces {
    private static let pieceBytes = 256 << 10

    let client: ClientKey
    private var pieces: ArraySlice<ComposedBody.Piece>
    private var reader: PieceReader?
    private var taken: Int64?
    /// Bytes of streams of unknown length.
    private(set) var fed: Int64 = 0

    init(_ pieces: [ComposedBody.Piece], for client: ClientKey) {
        self.pieces = pieces[...]
        self.client = client
    }

    mutating func next() async throws(HTTPFailure) -> ByteBuffer? {
        while let piece = pieces.first {
            switch piece {
            case .feed(let feed, let length, let pointer):
                if let more = try await fed(feed, length, pointer) { return more }
                taken = nil
            case .bytes, .file, .spilt:
                let reader = self.reader ?? PieceReader([piece])
                self.reader = reader
                let more = try await offLoop(for: client) { () throws(HTTPFailure) in
                    try reader.read(most: Self.pieceBytes)
                }
                if let more { return more }
                self.reader = nil
            }
            pieces = pieces.dropFirst()
        }
        return nil
    }

    private mutating func fed(
        _ feed: any BodyFeed, _ length: Int64?, _ pointer: String?
    ) async throws(HTTPFailure) -> ByteBuffer? {
        let before = taken ?? 0
        if let length, before == length { return nil }
        if taken == nil, !feed.take() {
            throw HTTPFailure(
                .inputStreamReadFailed, "the stream has been read before: what a client feeds can be had once",
                pointer: pointer)
        }
        taken = before
        let step = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in feed.next { continuation.resume(returning: $0) } }
        } onCancel: {
            feed.drop()
        }
        switch step {
        case .failed(let failure): throw failure
        case .end:
            if let length { throw unexpected(length, "only \(before)", pointer) }
            return nil
        case .bytes(let bytes):
            let after = before &+ Int64(bytes.count)  // safe: an Int is an Int64
            if let length, after > length { throw unexpected(length, "more", pointer) }
            taken = after
            if length == nil { fed &+= Int64(bytes.count) }  // safe: an Int is an Int64
            return ByteBuffer(bytes: bytes)
        }
    }

    private func unexpected(_ length: Int64, _ given: String, _ pointer: String?) -> HTTPFailure {
        HTTPFailure(
            .inputStreamReadFailed, "the stream was to give \(length) bytes, and gave \(given)", pointer: pointer)
    }
}
