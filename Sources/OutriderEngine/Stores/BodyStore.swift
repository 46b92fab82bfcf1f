// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Where one client's bodies are kept.
package struct BodyStore: Sendable {
    package let quota: BodyQuota
    package let workspace: Workspace

    package init(quota: BodyQuota, workspace: Workspace) {
        self.quota = quota
        self.workspace = workspace
    }
}
