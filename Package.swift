// swift-tools-version: 6.1

import PackageDescription

// The house of Docs/ARCHITECTURE.md: arrows point down only, rooms on one floor do not import each
// other. `HouseTests` compares every file's imports with these lists.

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

func room(
    _ name: String,
    _ dependencies: [Target.Dependency],
    plugins: [Target.PluginUsage] = []
) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: settings, plugins: plugins)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: name, dependencies: dependencies, swiftSettings: settings)
}

let package = Package(
    name: "lockkeeper",
    products: [
        .library(name: "Lockkeeper", targets: ["Lockkeeper"]),
        .library(name: "MessageStore", targets: ["LockkeeperMessages"]),
        .library(name: "AccountState", targets: ["LockkeeperState"]),
        .library(name: "LockkeeperTesting", targets: ["LockkeeperTesting"]),
        .executable(name: "lockkeeper", targets: ["LockkeeperCommand"]),
        .plugin(name: "EmbedSQL", targets: ["EmbedSQL"]),
    ],
    // Exactly one of the first two: SwiftPM has no condition for a trait that is off.
    traits: [
        .default(enabledTraits: ["SystemSQLite"]),
        .trait(name: "SystemSQLite", description: "The system's SQLite, without encryption."),
        .trait(
            name: "Encryption",
            description: "SQLCipher 4 in the place of SQLite (Scripts/install-sqlcipher)."
        ),
        .trait(
            name: "SecretService",
            description: "Secrets in the user's session, through libsecret, which it links."
        ),
    ],
    targets: [
        // 0 ground
        .target(name: "CLockkeeperPlatform"),
        .systemLibrary(
            name: "CLockkeeperSystemSQLite",
            pkgConfig: "sqlite3",
            providers: [.apt(["libsqlite3-dev"])]
        ),
        .systemLibrary(
            name: "CLockkeeperSQLCipher",
            pkgConfig: "sqlcipher",
            providers: [.apt(["libsqlcipher-dev"])]
        ),
        .target(
            name: "CLockkeeperSQLite",
            dependencies: [
                .target(
                    name: "CLockkeeperSystemSQLite",
                    condition: .when(traits: ["SystemSQLite"])
                ),
                .target(name: "CLockkeeperSQLCipher", condition: .when(traits: ["Encryption"])),
            ],
            linkerSettings: [
                .linkedLibrary("sqlite3", .when(traits: ["SystemSQLite"])),
                .linkedLibrary("sqlcipher", .when(traits: ["Encryption"])),
            ]
        ),
        .systemLibrary(
            name: "CLockkeeperSodium",
            pkgConfig: "libsodium",
            providers: [.apt(["libsodium-dev"])]
        ),
        // Without pkg-config: Debian's file sets a macro that SwiftPM does not take, and nothing needs.
        .systemLibrary(name: "CLockkeeperUTF8Proc", providers: [.apt(["libutf8proc-dev"])]),
        .target(name: "CLockkeeperSystemd"),
        .systemLibrary(
            name: "CLockkeeperLibsecret",
            pkgConfig: "libsecret-1",
            providers: [.apt(["libsecret-1-dev"])]
        ),
        .target(
            name: "CLockkeeperSecret",
            dependencies: [
                .target(name: "CLockkeeperLibsecret", condition: .when(traits: ["SecretService"]))
            ],
            cSettings: [.define("LK_SECRET_SERVICE", .when(traits: ["SecretService"]))]
        ),
        .target(name: "CLockkeeperFaultVFS", dependencies: ["CLockkeeperSQLite"]),
        .target(name: "CLockkeeperBaseline", dependencies: ["CLockkeeperSQLite"]),

        // 1 vocabulary
        room("LockkeeperDomain", []),

        // 2 instruments
        room("LockkeeperPlatform", ["LockkeeperDomain", "CLockkeeperPlatform"]),
        room("LockkeeperSQLite", ["LockkeeperDomain", "CLockkeeperSQLite"]),
        room("LockkeeperCrypto", ["LockkeeperDomain", "CLockkeeperSodium"]),
        room("LockkeeperText", ["CLockkeeperUTF8Proc"]),
        room("LockkeeperSystemd", ["LockkeeperDomain", "CLockkeeperSystemd"]),
        room("LockkeeperSecretService", ["CLockkeeperSecret"]),

        // 3 rooms
        room("LockkeeperLocking", ["LockkeeperDomain", "LockkeeperPlatform"]),
        room(
            "LockkeeperStorage",
            ["LockkeeperDomain", "LockkeeperPlatform", "LockkeeperSQLite", "LockkeeperCrypto"],
            plugins: ["EmbedSQL"]
        ),
        room("LockkeeperNotifier", ["LockkeeperDomain", "LockkeeperPlatform"]),
        room("LockkeeperIngest", ["LockkeeperDomain"]),

        // 4 corridor
        room(
            "Lockkeeper",
            [
                "LockkeeperDomain", "LockkeeperPlatform", "LockkeeperSQLite", "LockkeeperCrypto",
                "LockkeeperSystemd", "LockkeeperLocking", "LockkeeperStorage", "LockkeeperNotifier",
                "LockkeeperIngest",
            ]
        ),

        // 5 products
        room(
            "LockkeeperMessages",
            [
                "LockkeeperDomain", "LockkeeperPlatform", "LockkeeperSQLite", "LockkeeperCrypto",
                "LockkeeperText", "LockkeeperStorage", "LockkeeperIngest", "Lockkeeper",
            ],
            plugins: ["EmbedSQL"]
        ),

        room(
            "LockkeeperState",
            [
                "LockkeeperDomain", "LockkeeperPlatform", "LockkeeperSQLite", "LockkeeperCrypto",
                "LockkeeperSecretService", "LockkeeperStorage", "Lockkeeper",
            ],
            plugins: ["EmbedSQL"]
        ),

        // 6 product
        room(
            "LockkeeperTesting",
            [
                "LockkeeperDomain", "LockkeeperPlatform", "Lockkeeper", "LockkeeperMessages",
                "CLockkeeperFaultVFS",
            ]
        ),

        // 7 proof
        room(
            "LockkeeperSimulation",
            [
                "LockkeeperDomain", "LockkeeperPlatform", "LockkeeperCrypto", "LockkeeperText",
                "Lockkeeper", "LockkeeperMessages", "LockkeeperState", "LockkeeperTesting",
                "CLockkeeperBaseline",
            ]
        ),

        // The baseline as a program of its own: what `bench helper` holds a helper against.
        .executableTarget(
            name: "lockkeeper-baseline",
            dependencies: ["CLockkeeperBaseline"],
            path: "Sources/CLockkeeperBaselineProgram"
        ),

        // 8 door
        .executableTarget(
            name: "LockkeeperCommand",
            dependencies: [
                "LockkeeperDomain", "LockkeeperPlatform", "LockkeeperSystemd", "Lockkeeper",
                "LockkeeperMessages", "LockkeeperState", "LockkeeperSimulation",
            ],
            swiftSettings: settings
        ),

        // Build tool: `.sql` migrations become Swift source, so that no resource bundle, and with it
        // no Foundation, is needed below the products.
        .executableTarget(name: "embed-sql", path: "Plugins/embed-sql", swiftSettings: settings),
        .plugin(
            name: "EmbedSQL",
            capability: .buildTool(),
            dependencies: ["embed-sql"],
            path: "Plugins/EmbedSQL"
        ),

        .target(
            name: "LockkeeperTestSupport",
            dependencies: ["LockkeeperDomain", "LockkeeperPlatform", "LockkeeperSQLite"],
            path: "Tests/LockkeeperTestSupport",
            swiftSettings: settings
        ),
        tests("LockkeeperDomainTests", ["LockkeeperDomain"]),
        tests(
            "LockkeeperPlatformTests",
            [
                "LockkeeperTestSupport", "LockkeeperDomain", "CLockkeeperPlatform",
                "LockkeeperPlatform",
            ]
        ),
        tests(
            "LockkeeperSQLiteTests",
            ["LockkeeperTestSupport", "LockkeeperDomain", "LockkeeperSQLite", "CLockkeeperSQLite"]
        ),
        tests("LockkeeperCryptoTests", ["LockkeeperCrypto"]),
        tests("LockkeeperTextTests", ["LockkeeperText"]),
        tests("LockkeeperSystemdTests", ["LockkeeperSystemd", "LockkeeperPlatform"]),
        tests(
            "LockkeeperLockingTests",
            [
                "LockkeeperTestSupport", "LockkeeperDomain", "LockkeeperPlatform",
                "LockkeeperLocking", "lockkeeper-lock-tool",
            ]
        ),
        // Test tool: a process that the tests of the locks stop, kill and let fork.
        .executableTarget(
            name: "lockkeeper-lock-tool",
            dependencies: [
                "LockkeeperDomain", "CLockkeeperPlatform", "LockkeeperPlatform",
                "LockkeeperLocking",
            ],
            path: "Tests/lockkeeper-lock-tool",
            swiftSettings: settings
        ),
        tests(
            "LockkeeperStorageTests",
            [
                "LockkeeperTestSupport", "LockkeeperDomain", "LockkeeperPlatform",
                "LockkeeperSQLite", "LockkeeperCrypto",
                "LockkeeperStorage", "CLockkeeperSQLite",
            ]
        ),
        tests(
            "LockkeeperNotifierTests",
            [
                "LockkeeperTestSupport", "LockkeeperDomain", "LockkeeperPlatform",
                "LockkeeperNotifier",
            ]
        ),
        tests("LockkeeperIngestTests", ["LockkeeperDomain", "LockkeeperIngest"]),
        tests(
            "LockkeeperTests",
            [
                "LockkeeperTestSupport", "LockkeeperDomain", "LockkeeperPlatform",
                "LockkeeperSQLite", "LockkeeperStorage",
                "LockkeeperLocking", "LockkeeperNotifier", "LockkeeperIngest", "Lockkeeper",
                "LockkeeperTesting", "CLockkeeperSQLite",
            ]
        ),
        tests(
            "LockkeeperMessagesTests",
            [
                "LockkeeperTestSupport", "LockkeeperDomain", "LockkeeperPlatform",
                "LockkeeperSQLite", "LockkeeperCrypto", "LockkeeperText", "LockkeeperStorage",
                "Lockkeeper", "LockkeeperMessages", "LockkeeperTesting", "CLockkeeperSQLite",
            ]
        ),
        tests(
            "LockkeeperStateTests",
            [
                "LockkeeperTestSupport", "LockkeeperDomain", "LockkeeperPlatform",
                "LockkeeperSQLite", "LockkeeperCrypto", "LockkeeperStorage", "Lockkeeper",
                "LockkeeperState", "LockkeeperTesting",
            ]
        ),
        tests(
            "LockkeeperSimulationTests",
            [
                "LockkeeperTestSupport", "LockkeeperDomain", "LockkeeperPlatform",
                "LockkeeperSQLite", "LockkeeperStorage",
                "Lockkeeper", "LockkeeperMessages", "LockkeeperState", "LockkeeperTesting",
                "LockkeeperSimulation", "lockkeeper-store-tool",
            ]
        ),
        // Test tool: a process that has a store open, as Lockkeeper or as SQLite alone has it.
        .executableTarget(
            name: "lockkeeper-store-tool",
            dependencies: [
                "LockkeeperDomain", "CLockkeeperPlatform", "LockkeeperPlatform",
                "CLockkeeperSQLite", "LockkeeperSQLite", "LockkeeperStorage", "Lockkeeper",
                "LockkeeperMessages", "LockkeeperState", "LockkeeperTesting",
                "LockkeeperSimulation",
            ],
            path: "Tests/lockkeeper-store-tool",
            swiftSettings: settings
        ),
        tests(
            "LockkeeperProcessTests",
            [
                "LockkeeperTestSupport", "LockkeeperDomain", "LockkeeperPlatform",
                "LockkeeperSQLite", "LockkeeperCrypto", "Lockkeeper",
                "LockkeeperMessages", "LockkeeperState", "LockkeeperTesting",
                "LockkeeperSimulation", "LockkeeperCommand",
            ]
        ),
        tests("HouseTests", []),
    ]
)
