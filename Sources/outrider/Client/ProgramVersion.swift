// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The version of this program, and of the service that it starts.
enum ProgramVersion {
    static let current = "0.1.0"
}
