// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// For targets that do not know JSON.
package typealias ByteText = OutriderJSON.ByteText
