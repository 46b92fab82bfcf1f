// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Memory or a file that lives as long as the body of an attempt or of a result.
package protocol BodyHolder: AnyObject, Sendable {}
