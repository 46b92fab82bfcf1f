// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP

/// How an attempt ended.
package typealias LoginEnding = Result<CredentialSnapshot, OAuthFailure>
