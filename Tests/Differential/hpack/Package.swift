// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors
//
// A package of its own, so that the project needs no libnghttp2. The sources of HPACK are links to those of the project.

import PackageDescription

let package = Package(
    name: "hpack",
    targets: [
        .systemLibrary(name: "CNghttp2", pkgConfig: "libnghttp2", providers: [.apt(["libnghttp2-dev"])]),
        .target(name: "OutriderJSON"),
        .executableTarget(name: "hpack", dependencies: ["CNghttp2", "OutriderJSON"]),
    ]
)
