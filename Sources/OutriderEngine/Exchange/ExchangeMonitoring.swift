// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP
import Synchronization

extension Exchange {
    /// Reports a topic if monitored. Not under the lock of the state.
    @inline(__always)
    package func tell(_ topic: MonitorTopic, _ detail: () -> MonitorDetail) {
        if environment.monitor.wants(topic) { environment.monitor.report(topic, subject, detail) }
    }

    package var subject: MonitorSubject {
        MonitorSubject(
            request: identity.name, session: identity.session, tag: identity.tag, owner: state.withLock { $0.owner })
    }

    /// The number of the present attempt, from 1; 0 before the first.
    var attemptNumber: Int { state.withLock { $0.snapshot.attempts } }

    func piece(_ bytes: Int64, of total: KeyPath<Progress, Int64?>) -> MonitorDetail {
        let (progress, attempt) = state.withLock { ($0.snapshot.progress, $0.snapshot.attempts) }
        return .bytes(bytes, of: progress[keyPath: total], attempt: attempt)
    }

    func tellCreation() {
        guard environment.monitor.wants(TopicSet.creation) else { return }
        switch request {
        case .success(let attempt):
            tell(.requestCreated) { .request(attempt, attempt: 0) }
            if attempt.body != .none {
                tell(.uploadPrepared) { .upload(attempt.body.kindName, size: attempt.body.size) }
            }
        case .failure(let failure):
            if failure.kind.isOfUpload { tell(.uploadFailed) { .outcome(failure, attempt: 0) } }
            tell(.requestUnbuilt) { .outcome(failure, attempt: 0) }
        }
    }
}

// MARK: reports of the transport

extension Exchange {
    package func queued() { tell(.attemptQueued) { .attempt(attemptNumber) } }

    package func connecting(_ phase: HTTPFailure.Phase) {
        tell(.attemptConnecting) { .phase(phase, attempt: attemptNumber) }
    }

    package func callbackRuns(_ isCallbackRunning: Bool) { if isCallbackRunning { pause() } else { unpause() } }

    package func connected(_ timeline: Timeline) {
        tell(.attemptConnected) { .connection(timeline, attempt: attemptNumber) }
    }

    package func informational(_ head: ResponseHead) {
        tell(.attemptInformed) {
            .head(
                status: head.status, version: head.version.description, head.fields, attempt: attemptNumber)
        }
    }

    /// Ends the exchange at its limit, too, if the client does not read its stream. A client that reads gets, for half a
    /// second, the bytes that have come, and then the failure.
    package func endedUnread(_ failure: HTTPFailure) {
        guard failure.kind == .timedOut, failure.phase == .total, outlet?.hasTaken == true else { return }
        _ = environment.executors.later(seconds: 0.5) { [weak self] in self?.end(with: failure) }
    }
}

extension AttemptBody {
    fileprivate var kindName: String {
        switch self {
        case .none: "none"
        case .bytes: "bytes"
        case .file: "file"
        case .composed(let body): body.isSpilt ? "bytes" : "composed"
        }
    }
}

extension HTTPFailure.Kind {
    /// Whether making the body failed.
    fileprivate var isOfUpload: Bool {
        switch self {
        case .createUploadableFailed, .bodyPartURLInvalid, .bodyPartFilenameInvalid, .bodyPartFileNotReachable,
            .bodyPartFileNotReachableWithError, .bodyPartFileIsDirectory, .bodyPartFileSizeNotAvailable,
            .bodyPartFileSizeQueryFailed, .bodyPartInputStreamCreationFailed, .inputStreamReadFailed,
            .outputStreamCreationFailed, .outputStreamFileAlreadyExists, .outputStreamURLInvalid,
            .outputStreamWriteFailed, .bodyUnreadable:
            true
        default: false
        }
    }
}
