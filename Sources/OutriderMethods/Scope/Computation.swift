// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderRPC

/// A method that needs nothing but its parameters: see `ComputedMethod`.
protocol Computation: ComputedMethod where Scope == ClientScope {}
