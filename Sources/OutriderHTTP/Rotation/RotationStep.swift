// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// What a `RotationMachine` is for, what it wants done, and how it ends.
extension RotationMachine {
    package enum Order: Sendable, Equatable {
        /// Mends only what needs no server.
        case mend
        /// Tokens later than a generation; nil for those that are yet to be asked for.
        case obtain(TokenRequest, newerThan: UInt64?)
    }

    package enum Action: Sendable, Equatable {
        /// Read all files; then `found`.
        case look
        /// Put a damaged file aside.
        case quarantine(RotationFiles.Name)
        case quarantineEscrow
        /// See that there is room for what may come, by writing the record once more beside itself.
        case prepare(CredentialRecord)
        /// Connect, write the intent if there is one, send, write down what comes; then `answered`, `lost` or `notSent`.
        case ask(TokenRequest, CredentialRecord, RotationIntent?)
        /// The outcome of an intent has been unknown since now.
        case stamp(RotationIntent)
        /// Replace the record; the one before it becomes the previous, and then what was kept elsewhere is removed.
        case write(CredentialRecord)
        /// Keep it where else there is a place, sealed.
        case escrow(CredentialRecord)
        /// Remove intent, answer and pause: first the intent.
        case clear
        case pause(RotationPause)
        case end(End)
    }

    package enum End: Sendable, Equatable {
        case tokens(CredentialRecord, isSaved: Bool)
        case failed(OAuthFailure)
        /// What there is after mending; nil for no such credential.
        case mended(CredentialRecord?, isSaved: Bool)
    }
}
