// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The orders, actions and outcomes of a `RotationMachine`.
extension RotationMachine {
    package enum Order: Sendable, Equatable {
        /// Makes only the repairs that need no server.
        case mend
        /// Gets tokens later than a generation; nil always requests new tokens.
        case obtain(TokenRequest, newerThan: UInt64?)
    }

    package enum Action: Sendable, Equatable {
        /// Read all files; then `found`.
        case look
        /// Put a damaged file aside.
        case quarantine(RotationFiles.Name)
        case quarantineEscrow
        /// Reserve room for the response: write a copy of the record beside the record.
        case prepare(CredentialRecord)
        /// Connect, write the intent if present, send, store the response; then `responded`, `lost` or `notSent`.
        case send(TokenRequest, CredentialRecord, RotationIntent?)
        /// The outcome of an intent has been unknown since now.
        case stamp(RotationIntent)
        /// Replace the record; the old record becomes the previous, and then the copy in the fallback store is removed.
        case write(CredentialRecord)
        /// Keep the record sealed in the fallback store.
        case escrow(CredentialRecord)
        /// Remove intent, response and pause; the intent first.
        case clear
        case pause(RotationPause)
        case end(End)
    }

    package enum End: Sendable, Equatable {
        case tokens(CredentialRecord, isSaved: Bool)
        case failed(OAuthFailure)
        /// The record after repairs; nil if no such credential exists.
        case mended(CredentialRecord?, isSaved: Bool)
    }
}
