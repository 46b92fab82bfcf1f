// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// The same type as in JSON, so that a secret in a message is never copied into another form.
package typealias Secret = OutriderJSON.Secret
