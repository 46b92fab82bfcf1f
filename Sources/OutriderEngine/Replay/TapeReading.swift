// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderFiles
import OutriderHTTP
import OutriderTransport

/// Reading the file of a cassette, and its bodies that are files of their own. Blocks.
extension Tape {
    static func read(_ path: String) throws(HTTPFailure) -> CassetteReader.Contents {
        let file: CInt
        do throws(FileFault) {
            file = try CheckedFile.open(path, O_RDONLY, [.regular])
        } catch {
            throw .unusableCassette(path, "it cannot be read: \(error.description)", posix: error.code)
        }
        defer { close(file) }
        return try CassetteReader.read(try CassetteFile.bytes(of: file, path), of: path)
    }

    /// The entries as requests are compared: without secrets, which archives of other programs have; with the mask that
    /// knows these secrets.
    ///
    /// Long bodies of requests are read to be compared, and are not kept; those of responses must be there.
    static func index(
        _ contents: CassetteReader.Contents, _ settings: Settings
    ) throws(HTTPFailure) -> (index: CassetteIndex, mask: CassetteMask) {
        var mask = settings.mask
        // a secret may occur in entries before the one whose field tells that it is one
        for entry in contents.entries { mask.values.add(mask.secrets(of: try request(of: entry, settings.path))) }
        var index = CassetteIndex(settings.matcher, path: settings.path, mask: mask, timing: settings.timing)
        for entry in contents.entries {
            var entry = entry
            entry.request = mask.masked(settings.matcher.compared(try request(of: entry, settings.path)))
            entry.messages = entry.messages?.map { $0.isSent ? mask.masked($0) : $0 }
            if let name = entry.bodyFile { try check(name, settings.path) }
            index.add(entry)
        }
        return (index, mask)
    }

    private static func request(of entry: CassetteEntry, _ path: String) throws(HTTPFailure) -> ReplayRequest {
        var request = entry.request
        if let name = entry.requestFile { request.body = try body(name, path) }
        // requests are compared without their coding, which archives of other programs have; recorded bodies have none
        if !request.body.isEmpty, request.fields.contains("Content-Encoding"),
            String(validating: request.body, as: UTF8.self) == nil
        {
            request.body =
                CodedBody.plain(request.body, request.fields, from: "", isWhole: true, most: StagedAttempt.mostBody)
                ?? request.body
        }
        return request
    }

    private static func place(_ name: String, _ path: String) -> String {
        (path.lastIndex(of: "/").map { path[...$0] } ?? "") + name
    }

    private static func check(_ name: String, _ path: String) throws(HTTPFailure) {
        let place = place(name, path)
        if access(place, R_OK) == 0 { return }
        let code = errno
        throw .unusableCassette(
            path, "its body \(place) cannot be read: \(String(cString: strerror(code)))", posix: code)
    }

    /// The bytes of a body that is a file of its own.
    static func body(_ name: String, _ path: String) throws(HTTPFailure) -> [UInt8] {
        let place = place(name, path)
        do throws(FileFault) {
            let file = try CheckedFile.open(place, O_RDONLY, [.regular])
            defer { close(file) }
            do throws(HTTPFailure) { return try CassetteFile.bytes(of: file, place) } catch { throw .system(EIO) }
        } catch {
            throw .unusableCassette(path, "its body \(place) cannot be read: \(error.description)", posix: error.code)
        }
    }
}
