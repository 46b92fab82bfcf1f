// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The place of a client's kept bodies.
package struct BodyStore: Sendable {
    package let quota: BodyQuota
    package let workspace: Workspace
}
