// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Decides how a response continues a partial file.
///
/// A plain Range is sent, without If-Range; the response is compared with the noted version here, since some servers
/// ignore Range, If-Range, or both.
package struct ResumeRule: Sendable {
    package enum Verdict: Sendable, Equatable {
        /// The body is the whole file: replace the kept bytes.
        case whole(ResourceVersion)
        /// The body is this range of the same version; the total length may have been unknown before.
        case part(Range<Int64>, total: Int64?)
        /// The file is complete.
        case complete
        /// There is no content: the caller's copy is current (304).
        case notModified
        /// The kept bytes are useless: request the whole file.
        case restart
        /// The download cannot resume. The kept bytes stay.
        case fail(HTTPFailure)
    }

    /// The requested range; nil for the whole.
    package var requested: Range<Int64>?
    /// The noted version of the kept bytes.
    package var version: ResourceVersion
    package var held: HeldRanges
    package var whenChanged: DownloadSpec.WhenChanged?
    /// The digest of the whole is known beforehand, and decides in place of the validators.
    package var isVerified: Bool

    package init(
        requested: Range<Int64>?, version: ResourceVersion, held: HeldRanges,
        whenChanged: DownloadSpec.WhenChanged? = nil,
        isVerified: Bool = false
    ) {
        self.requested = requested
        self.version = version
        self.held = held
        self.whenChanged = whenChanged
        self.isVerified = isVerified
    }

    /// Whether a resume is worthwhile: a changed resource could be detected.
    package static func mayResume(_ version: ResourceVersion, isVerified: Bool) -> Bool {
        isVerified || version.isRecognizable
    }

    /// - Parameters:
    ///   - length: of the body, if declared.
    ///   - isOwnRange: the caller requested a range: the part is the complete result.
    package func verdict(status: Int, _ fields: HTTPFields, length: Int64?, isOwnRange: Bool = false) -> Verdict {
        guard let requested else { return withoutRange(status, fields, length, isOwnRange) }
        switch status {
        case 200: return ignored(fields, length)
        case 206: return part(requested, fields)
        case 412: return changed("the server says that its resource has changed", ResourceVersion(fields, total: nil))
        case 416: return unsatisfied(fields)
        default: return .fail(Self.refused(status))
        }
    }

    /// The failure for a status that says nothing about the file.
    package static func refused(_ status: Int) -> HTTPFailure {
        HTTPFailure(
            .unacceptableStatusCode,
            "the request for the remaining bytes got status \(status); the partial file is kept",
            retryable: ValidationRule.transient.contains(status), sent: .sent, details: [.status(status)])
    }

    private func withoutRange(_ status: Int, _ fields: HTTPFields, _ length: Int64?, _ isOwnRange: Bool) -> Verdict {
        if status == 304 { return .notModified }
        if status == 206, !isOwnRange {
            return .fail(
                HTTPFailure(
                    .malformedResponse, "the server sent a part (206) although the whole was asked for",
                    phase: .response, sent: .sent))
        }
        return .whole(ResourceVersion(toKeep: fields, total: length))
    }

    /// The server does not support ranges, or If-Range found another version.
    private func ignored(_ fields: HTTPFields, _ length: Int64?) -> Verdict {
        let whole = ResourceVersion(toKeep: fields, total: length)
        if whenChanged != .fail { return .whole(whole) }
        return .fail(failure("the server sends the whole again (200)", whole))
    }

    private func part(_ requested: Range<Int64>, _ fields: HTTPFields) -> Verdict {
        guard case .part(let range, let total)? = ContentRange(fields) else {
            return .fail(
                HTTPFailure(
                    .malformedResponse, "the server sent a part (206) and does not say which: no valid Content-Range",
                    phase: .response, sent: .sent))
        }
        let theirs = ResourceVersion(fields, total: total)
        switch compared(with: theirs) {
        case .same: break
        case .different: return changed("the resource has changed", theirs)
        case .unknown where whenChanged == .fail:
            return .fail(failure("the server does not say whether its resource is the same", theirs))
        case .unknown: return .restart
        }
        guard range.lowerBound == requested.lowerBound, range.upperBound <= requested.upperBound else {
            return .fail(
                HTTPFailure(
                    .malformedResponse,
                    "the server sent bytes \(Self.shown(range)), though bytes \(Self.shown(requested)) were asked for",
                    phase: .response, sent: .sent))
        }
        if let total, total < held.end { return changed("the resource has become shorter", theirs) }
        return .part(range, total: total)
    }

    /// As in a Range field (RFC 9110 section 14.1.2).
    private static func shown(_ range: Range<Int64>) -> String {
        "\(range.lowerBound)-\(range.upperBound == .max ? "" : String(range.upperBound &- 1))"
    }

    /// The range begins at the end of the file: complete if the lengths agree.
    private func unsatisfied(_ fields: HTTPFields) -> Verdict {
        var theirs = ResourceVersion(fields, total: nil)
        guard case .none(let total)? = ContentRange(fields) else {
            return changed("the server has nothing there (416)", theirs)
        }
        theirs.total = total
        theirs.coding = version.coding
        guard version.total ?? total == total, held.end <= total else {
            return changed("the resource has another length", theirs)
        }
        guard held.prefix == total, held.isPrefix else {
            return changed("the server refuses the range of the remaining bytes (416)", theirs)
        }
        // a 416 may omit validators, but present validators must match
        if compared(with: theirs) == .different { return changed("the resource has changed", theirs) }
        return .complete
    }

    private func compared(with theirs: ResourceVersion) -> ResourceVersion.Comparison {
        guard isVerified else { return version.compared(with: theirs) }
        let lengths = (version.total, theirs.total)
        if version.coding != theirs.coding { return .different }
        if let ours = lengths.0, let other = lengths.1, ours != other { return .different }
        return .same
    }

    private func changed(_ what: String, _ theirs: ResourceVersion) -> Verdict {
        whenChanged == .restart ? .restart : .fail(failure(what, theirs))
    }

    private func failure(_ what: String, _ theirs: ResourceVersion) -> HTTPFailure {
        HTTPFailure(
            .resourceChanged,
            "\(what): there was \(version.description), now there is \(theirs.description). What is there is kept; "
                + "whenChanged: restart begins again",
            sent: .sent, details: [.expected(version.description), .actual(theirs.description)])
    }
}
