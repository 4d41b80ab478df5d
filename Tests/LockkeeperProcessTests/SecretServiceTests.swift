import LockkeeperPlatform
import Testing

/// The program with the package trait `SecretService`, against a real GNOME Keyring on a session bus of
/// the test's own. `Scripts/test` builds it and names it.
private let program = Environment.variable("LOCKKEEPER_SECRET_SERVICE_BINARY")

@Suite("The Secret Service, unlocked and locked", .enabled(if: program != nil))
struct SecretServiceTests {
    @Test("items are stored, replaced, listed and deleted, and other accounts' stay")
    func unlocked() async throws {
        let keyring = try await Keyring()
        let lines = await keyring.run(
            """
            unlock
            printf 'first' | secrets set token; echo "set $?"
            secrets get token
            printf 'bob' | secrets set token --account bob
            printf 'second' | secrets set token --access whileUnlocked; echo "replaced $?"
            secrets get token --json
            secrets list
            secrets delete --all --yes; echo "deleted $?"
            secrets get token; echo "missing $?"
            secrets list
            secrets get token --account bob
            """
        )
        #expect(
            lines == [
                "set 0", "first", "replaced 0",
                #"{"v":1,"service":"token","access":"whileUnlocked","bytes":"7365636f6e64"}"#,
                "token", "deleted 0", "missing 1", "bob",
            ]
        )
    }

    @Test(
        "a keyring that was locked answers 'locked' to all, asks nobody, and has kept all when it opens"
    )
    func locked() async throws {
        let keyring = try await Keyring()
        let lines = await keyring.run(
            """
            unlock
            printf 'first' | secrets set token; echo "set $?"
            lock
            secrets get token; echo "get $?"
            secrets get other; echo "other $?"
            printf 'second' | secrets set token; echo "replace $?"
            printf 'new' | secrets set other; echo "save $?"
            secrets delete token --yes; echo "delete $?"
            secrets list; echo "list $?"
            secrets delete --all --yes; echo "delete all $?"
            """
        )
        #expect(
            lines == [
                "set 0", "get 75", "other 75", "replace 75", "save 75", "delete 75", "list 75",
                "delete all 75",
            ]
        )
        // In the next session, before the person has unlocked anything, and then after.
        let next = await keyring.run(#"secrets get token; echo "get $?""#)
        #expect(next == ["get 75"])
        let opened = await keyring.run("unlock\nsecrets get token\nsecrets list")
        #expect(opened == ["first", "token"])
    }

    @Test("without a session bus the answer is 'unavailable'")
    func unavailable() async throws {
        let keyring = try await Keyring()
        let lines = await keyring.run(
            """
            export DBUS_SESSION_BUS_ADDRESS=unix:path=/nonexistent
            secrets get token; echo "get $?"
            printf 'x' | secrets set token; echo "set $?"
            """
        )
        #expect(lines == ["get 69", "set 69"])
    }
}

/// A home with a keyring of its own, and a workspace with the accounts alice and bob.
private struct Keyring {
    private let test: TestWorkspace
    private let home: TemporaryFolder
    private let preamble: String

    init() async throws {
        test = try await TestWorkspace()
        _ = try await test.run(["account", "add", "bob"])
        home = try TemporaryFolder()
        let program = try #require(program)
        preamble = """
            exec 2>/dev/null
            secrets() {
                action=$1; shift
                case " $* " in *" --account "*) ;; *) set -- "$@" --account alice ;; esac
                '\(program)' secrets "$action" "$@" --store secret-service \
                    --root '\(test.root)'
            }
            unlock() {
                printf 'password' | gnome-keyring-daemon --unlock --components=secrets >/dev/null
            }
            lock() {
                dbus-send --session --print-reply --dest=org.freedesktop.secrets \
                    /org/freedesktop/secrets org.freedesktop.Secret.Service.Lock \
                    array:objpath:/org/freedesktop/secrets/collection/login >/dev/null
            }

            """
    }

    /// Runs a script on a session bus of its own, and gives what it printed.
    func run(_ script: String) async -> [String] {
        do {
            let command = try RunningCommand(
                ["--", "sh", "-c", preamble + script],
                program: "dbus-run-session",
                environment: [
                    "HOME": home.path, "XDG_DATA_HOME": home.path("data"),
                    "XDG_RUNTIME_DIR": home.path, "XDG_CONFIG_HOME": home.path("config"),
                ]
            )
            command.closeInput()
            return await command.end().lines
        } catch {
            return ["\(error)"]
        }
    }
}
