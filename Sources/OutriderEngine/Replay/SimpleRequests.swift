// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

/// Requests without a body and a secret: method and URL alone decide about the response.
extension Tape {
    /// The response of a request that has no secret to be learned, and no body to be compared; nil if it has, or if the
    /// response is not found so.
    func simpleStep(_ request: ReplayRequest, _ attempt: Attempt) -> (Playback.Step, AttemptScript.Origin?)? {
        guard request.body.isEmpty, isSimple(attempt) else { return nil }
        return state.withLock { state in
            guard let step = state.playback?.takeSimple(request.method, request.url) else { return nil }
            state.counts.played += 1
            return (step, nil)
        }
    }

    /// The same for a response that is at hand with all its parts, and whose body has at most so many bytes.
    func takeReady(for attempt: Attempt, _ most: Int) -> PreparedScript? {
        let url = attempt.url.description
        guard attempt.duplex == nil, !ReplayStage.isLong(url), covers(url), isSimple(attempt) else { return nil }
        return state.withLock { state in
            let found = state.playback?.takeReady(attempt.method, url, most)
            if found != nil { state.counts.played += 1 }
            return found
        }
    }

    /// A response was taken, and is left for the next request.
    func giveBack(_ turn: Playback.Turn) {
        state.withLock { state in
            state.counts.played -= 1
            state.playback?.giveBack(turn)
        }
    }

    /// Whether nothing is recorded, and nothing of the request is masked or compared but its method and its URL.
    private func isSimple(_ attempt: Attempt) -> Bool {
        isClosed && attempt.login == nil && !attempt.fields.contains("Range")
            && settings.mask.lacksSecrets(attempt.fields)
    }
}
