// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Synchronization

/// The files of a played credential, in memory.
final class PlayedStore: RotationStore, Sendable {
    private let files: Mutex<RotationFiles>

    init(_ record: CredentialRecord) {
        var files = RotationFiles()
        files.record = .whole(record)
        self.files = Mutex(files)
    }

    var record: CredentialRecord? { files.withLock { $0.record.value } }

    /// Takes a record that a client has changed.
    func replace(_ record: CredentialRecord) { files.withLock { $0.record = .whole(record) } }

    func look() -> RotationFiles { files.withLock { $0 } }

    /// A played token is a mask. The next one gets a number, since a refused token is told from its successor by its text.
    func write(_ record: CredentialRecord) {
        var record = record
        files.withLock { files in
            if let old = files.record.value?.access, let new = record.access, old != new, old.token == new.token {
                record.access?.token = Secret("\(SecretFields.mask)\(record.generation)")
            }
            files.record = .whole(record)
        }
    }

    func write(_ intent: RotationIntent) { files.withLock { $0.intent = .whole(intent) } }
    func write(_ pause: RotationPause) { files.withLock { $0.pause = pause } }

    func clear() {
        files.withLock { files in
            files.intent = .absent
            files.pause = nil
        }
    }

    func begin(_ intent: RotationIntent) { write(intent) }

    // memory has room, is never damaged, and ends with its service
    func prepare(_ record: CredentialRecord) {}
    func journal(_ piece: ResponseJournal.Piece) {}
    func escrow(_ record: CredentialRecord) {}
    func quarantine(_ file: RotationFiles.Name) {}
    func quarantineEscrow() {}
}
