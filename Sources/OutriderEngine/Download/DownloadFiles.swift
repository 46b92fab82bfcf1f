// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
package import OutriderHTTP

/// Finds the files of a download. All calls block.
enum DownloadFiles {
    struct Opened: Sendable {
        /// The destination of the file.
        var place: DownloadPlace
        var file: PartialFile
        /// Whether the destination is in our workspace, and is removed with the response.
        var isTemporary: Bool
        /// Whether a part of the file exists already.
        var hasSome: Bool
        /// Whether the response is to name the file of the place.
        var isNameless = false
    }

    /// Throws the errors of `DownloadPlace` and `PartialFile`.
    ///
    /// - Parameters:
    ///   - suggested: the name if the destination is a directory without a name.
    ///   - asked: the mark of the requested URL.
    ///   - home: its origin.
    static func open(
        _ options: DownloadSpec.Options, suggested: String?, url: String, asked: String?, home: String?,
        _ workspace: Workspace
    ) throws(HTTPFailure) -> Opened {
        if let journal = options.journal {
            let opened = try resume(journal, options, suggested, asked, workspace)
            opened.file.change { $0.home = home }
            return opened
        }
        let place = try place(options, suggested, workspace)
        try place.check()
        let file = try PartialFile(in: place, url: url)
        let written = options.resumes ? file.written() : nil
        let hasSome = written.map { isOfSame($0, asked, options) && file.adopt($0) } ?? false
        // this request decides, whatever the earlier request said
        file.change { journal in
            if options.place != .temporary { journal.target = place.path }
            journal.replaces = options.replaces
            journal.asked = asked
            journal.home = home
        }
        return Opened(place: place, file: file, isTemporary: options.place == .temporary, hasSome: hasSome)
    }

    /// Whether a partial file at the destination is of the requested resource: tags and dates tell versions of one
    /// resource apart, and not two resources (RFC 9110 section 8.8). A digest of the caller tells everything apart.
    private static func isOfSame(
        _ journal: DownloadJournal, _ asked: String?, _ options: DownloadSpec.Options
    ) -> Bool {
        guard options.checksums.isEmpty, let before = journal.asked, let asked else { return true }
        return before == asked
    }

    private static func place(
        _ options: DownloadSpec.Options, _ suggested: String?, _ workspace: Workspace
    ) throws(HTTPFailure) -> DownloadPlace {
        switch options.place {
        case .temporary:
            return try DownloadPlace(
                directory: try workspace.downloads(), name: "outrider_\(hex(.random(in: 0...UInt64.max)))",
                replaces: false, creating: false)
        case .path(let path):
            return try DownloadPlace(path: path, replaces: options.replaces, creating: options.createsDirectories)
        case .directory(let directory, let name):
            return try DownloadPlace(
                directory: try DownloadPlace.absolute(directory), name: name ?? suggested ?? FileName.fallback,
                replaces: options.replaces, creating: options.createsDirectories)
        }
    }

    /// Opens the partial file named in resume data; refuses a file that is not a partial file of ours.
    private static func resume(
        _ journal: DownloadJournal, _ options: DownloadSpec.Options, _ suggested: String?, _ asked: String?,
        _ workspace: Workspace
    ) throws(HTTPFailure) -> Opened {
        let slash = journal.partial.lastIndex(of: "/") ?? journal.partial.startIndex
        let name = String(journal.partial[journal.partial.index(after: slash)...])
        guard PartialName.isPartial(name) else { throw unusable("it names no partial file of a download") }
        let directory = slash == journal.partial.startIndex ? "/" : String(journal.partial[..<slash])
        var options = options
        if options.place == .temporary, let target = journal.target {
            options.place = .path(target)
            options.replaces = options.replaces || journal.replaces
        }
        if case .directory(let where_, nil) = options.place, let target = journal.target {
            let last = target.split(separator: "/").last.map(String.init)
            options.place = .directory(where_, name: last ?? suggested)
        }
        let home: DownloadPlace
        do throws(HTTPFailure) {
            home = try DownloadPlace(directory: directory, name: name, replaces: false, creating: false)
        } catch {
            throw unusable(error.message, error.underlying)
        }
        let place = try place(options, suggested, workspace)
        // a private file goes to a directory
        let isNameless = if case .directory(_, nil) = options.place { true } else { false }
        if !isNameless { try place.check() }
        let file = try PartialFile(in: home, named: name, url: journal.url, mustExist: true)
        let isTemporary = options.place == .temporary
        // the journal beside the file is newer than the client's resume data
        let hasSome = file.adopt(file.written() ?? journal)
        file.change { journal in
            journal.target = isTemporary || isNameless ? nil : place.path
            journal.replaces = options.replaces
            journal.asked = asked
        }
        return Opened(
            place: place, file: file, isTemporary: isTemporary, hasSome: hasSome, isNameless: isNameless)
    }

    private static func unusable(_ why: String, _ underlying: HTTPFailure.Underlying? = nil) -> HTTPFailure {
        HTTPFailure(.resumeDataUnusable, "the resume data cannot be used: \(why)", underlying: underlying)
    }

    private static func hex(_ number: UInt64) -> String { String(number, radix: 16) }
}

/// Opens the files of a download. While another download holds them, tries again for a second: the end of a client, or
/// a cancellation by another client, may still be on its way to the service. Then throws `destinationBusy`.
func openFiles<Value: Sendable>(
    for client: ClientKey, _ open: @escaping @Sendable () throws(HTTPFailure) -> Value
) async throws(HTTPFailure) -> Value {
    let end = ContinuousClock.now.advanced(by: .seconds(1))
    while true {
        do throws(HTTPFailure) {
            return try await offLoop(for: client, open)
        } catch {
            guard error.kind == .destinationBusy, !Task.isCancelled, ContinuousClock.now < end else { throw error }
        }
        try? await Task.sleep(for: .milliseconds(20))
    }
}

/// The journal of an interrupted download to that path; nil for none. Throws `destinationBusy` if a download goes on,
/// and another failure if the path cannot be used.
package func interruptedDownload(to path: String, for client: ClientKey) async throws(HTTPFailure) -> DownloadJournal? {
    try await openFiles(for: client) { () throws(HTTPFailure) in
        let place: DownloadPlace
        do throws(HTTPFailure) {
            place = try DownloadPlace(path: path, replaces: true, creating: false)
        } catch {
            // without the directory there is no partial file
            if error.underlying?.code == Int(ENOENT) { return nil }
            throw error
        }
        let name = PartialName.partial(of: place.name)
        var info = stat()
        guard fstatat(place.descriptor, name, &info, AT_SYMLINK_NOFOLLOW) == 0 else { return nil }
        let file = try PartialFile(in: place, url: "", mustExist: true)
        guard var journal = file.written() else { return nil }
        journal.partial = file.path
        journal.target = place.path
        return journal
    }
}
