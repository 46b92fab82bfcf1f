// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The version of this program, and of the service that this program starts.
enum ProgramVersion {
    static let current = "0.1.0"
}
