// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Further secret names beside those of `SecretFields`, and names that are shown on purpose.
package struct SecretNames: Sendable, Equatable {
    /// Lower-case names of fields.
    package var fields: Set<String> = []
    /// Lower-case names of parameters and members.
    package var parameters: Set<String> = []
    /// Lower-case names that are shown.
    package var shown: Set<String> = []

    func isShown(_ name: String) -> Bool { !shown.isEmpty && shown.contains(name.lowercased()) }

    func isSecret(field name: String) -> Bool {
        if isShown(name) { return false }
        return SecretFields.contains(name) || !fields.isEmpty && fields.contains(name.lowercased())
    }

    func isSecret(parameter name: String) -> Bool {
        if isShown(name) { return false }
        return SecretFields.containsParameter(name) || !parameters.isEmpty && parameters.contains(name.lowercased())
    }
}
