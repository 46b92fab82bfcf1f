// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors
//
// One section per target, bedrock first, in the order of docs/internals/architecture.md; one dependency per line, alphabetical.

import PackageDescription

// Not MemberImportVisibility: which module it takes `struct stat` to come from depends on the order of files, and now and
// then that is CoreFoundation, which swift-crypto brings along.
let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .treatAllWarnings(as: .error),
]

let package = Package(
    name: "outrider",
    products: [
        .executable(name: "outrider", targets: ["outrider"])
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-asn1", exact: "1.7.4"),
        .package(url: "https://github.com/apple/swift-certificates", exact: "1.21.1"),
        .package(url: "https://github.com/apple/swift-crypto", exact: "4.5.2"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", exact: "2.37.6"),
        // not used here, and brought along by the packages above: named so that every build takes the same versions
        .package(url: "https://github.com/apple/swift-atomics.git", exact: "1.3.0"),
        .package(url: "https://github.com/apple/swift-collections.git", exact: "1.6.0"),
        .package(url: "https://github.com/apple/swift-system.git", exact: "1.8.1"),
    ],
    targets: [
        // bedrock
        .systemLibrary(
            name: "CBrotli",
            pkgConfig: "libbrotlienc",
            providers: [.apt(["libbrotli-dev"])]
        ),
        .target(
            name: "CContract"
        ),
        .systemLibrary(
            name: "CJansson",
            pkgConfig: "jansson",
            providers: [.apt(["libjansson-dev"])]
        ),
        .systemLibrary(
            name: "CLinux"
        ),
        .systemLibrary(
            name: "CSQLite",
            pkgConfig: "sqlite3",
            providers: [.apt(["libsqlite3-dev"])]
        ),
        .systemLibrary(
            name: "CYaml",
            pkgConfig: "yaml-0.1",
            providers: [.apt(["libyaml-dev"])]
        ),
        .systemLibrary(
            name: "CZlib",
            pkgConfig: "zlib",
            providers: [.apt(["zlib1g-dev"])]
        ),
        .systemLibrary(
            name: "CZstd",
            pkgConfig: "libzstd",
            providers: [.apt(["libzstd-dev"])]
        ),

        // ground
        .target(
            name: "OutriderFiles",
            swiftSettings: settings
        ),
        .target(
            name: "OutriderJSON",
            dependencies: [
                "CJansson"
            ],
            swiftSettings: settings
        ),

        .target(
            name: "OutriderYAML",
            dependencies: [
                "CYaml",
                "OutriderJSON",
            ],
            swiftSettings: settings
        ),

        // rules
        .target(
            name: "OutriderRPC",
            dependencies: [
                "OutriderJSON"
            ],
            swiftSettings: settings
        ),
        .target(
            name: "OutriderHTTP",
            dependencies: [
                "OutriderJSON",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
            ],
            swiftSettings: settings
        ),

        // wires
        .target(
            name: "OutriderTransport",
            dependencies: [
                "CBrotli",
                "CLinux",
                "CZlib",
                "CZstd",
                "OutriderFiles",
                "OutriderHTTP",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "X509", package: "swift-certificates"),
            ],
            swiftSettings: settings
        ),

        // running
        .target(
            name: "OutriderServer",
            dependencies: [
                "OutriderFiles",
                "OutriderJSON",
                "OutriderRPC",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "OutriderEngine",
            dependencies: [
                "CLinux",
                "CSQLite",
                "OutriderFiles",
                "OutriderHTTP",
                "OutriderTransport",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),

        // hall
        .target(
            name: "OutriderMethods",
            dependencies: [
                "CContract",
                "OutriderEngine",
                "OutriderHTTP",
                "OutriderJSON",
                "OutriderRPC",
                "OutriderYAML",
            ],
            swiftSettings: settings
        ),

        // roof
        .executableTarget(
            name: "outrider",
            dependencies: [
                "OutriderEngine",
                "OutriderFiles",
                "OutriderHTTP",
                "OutriderJSON",
                "OutriderMethods",
                "OutriderRPC",
                "OutriderServer",
                "OutriderTransport",
                "OutriderYAML",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: settings,
            // the shared libdispatch of debug builds finds `openForLibraries`
            linkerSettings: [.unsafeFlags(["-Xlinker", "--export-dynamic-symbol=open"])]
        ),

        // tests, in the same order
        .testTarget(
            name: "OutriderFilesTests",
            dependencies: [
                "OutriderFiles"
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "OutriderJSONTests",
            dependencies: [
                "OutriderJSON"
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "OutriderYAMLTests",
            dependencies: [
                "OutriderJSON",
                "OutriderYAML",
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "OutriderRPCTests",
            dependencies: [
                "OutriderJSON",
                "OutriderRPC",
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "OutriderHTTPTests",
            dependencies: [
                "OutriderHTTP",
                "OutriderJSON",
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "OutriderTransportTests",
            dependencies: [
                "OutriderHTTP",
                "OutriderTransport",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOTLS", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "OutriderServerTests",
            dependencies: [
                "OutriderJSON",
                "OutriderRPC",
                "OutriderServer",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "OutriderEngineTests",
            dependencies: [
                "OutriderEngine",
                "OutriderHTTP",
                "OutriderTransport",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "OutriderMethodsTests",
            dependencies: [
                "OutriderEngine",
                "OutriderHTTP",
                "OutriderJSON",
                "OutriderMethods",
                "OutriderRPC",
                "OutriderTransport",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
