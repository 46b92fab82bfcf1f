// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// An unsupported part, or a hint for the user.
package struct ImportNote: Sendable, Equatable {
    package var pointer: JSONPointer
    package var message: String
}
