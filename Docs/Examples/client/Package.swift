// swift-tools-version: 6.1
import PackageDescription

// A small client in four targets, with a test. In an app of your own the dependency is
// .package(url: …, from: …) instead of a path.
let lockkeeper: [Target.Dependency] = [
    .product(name: "Lockkeeper", package: "lockkeeper"),
    .product(name: "MessageStore", package: "lockkeeper"),
]

let package = Package(
    name: "client",
    dependencies: [.package(name: "lockkeeper", path: "../../..")],
    targets: [
        .target(name: "Chat", dependencies: lockkeeper),
        .executableTarget(name: "ChatHost", dependencies: ["Chat"] + lockkeeper),
        .executableTarget(name: "NotificationHelper", dependencies: ["Chat"] + lockkeeper),
        .executableTarget(name: "ShareHelper", dependencies: ["Chat"] + lockkeeper),
        .testTarget(
            name: "ChatTests",
            dependencies: ["Chat", .product(name: "LockkeeperTesting", package: "lockkeeper")]
                + lockkeeper
        ),
    ]
)
