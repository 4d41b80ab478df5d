/// The completion of bash: a function that knows the words of each command.
enum BashCompletion {
    /// The script.
    static var script: String {
        let table = CompletionTable()
        return """
            # Completion of lockkeeper for bash, made by 'lockkeeper completions bash'.

            # Words that may follow a command: what the first argument names, then its options.
            _lockkeeper_words() {
                case "$1" in
            \(words(of: table))
                esac
            }

            # What follows an option of a command: its words, or FILE, DIR or FREE; nothing for a flag.
            _lockkeeper_value() {
                case "$1 $2" in
            \(values(of: table))
                esac
            }

            \(function(groups: table.groups, filesOf: table))

            complete -F _lockkeeper lockkeeper
            """
    }

    private static func words(of table: CompletionTable) -> String {
        func arm(_ name: String, _ words: [String]) -> String {
            "        '\(name)') echo \"\(words.joined(separator: " "))\" ;;"
        }
        let global = GlobalOptions.specifications.map { "--\($0.name)" } + ["--version"]
        return
            ([arm("", table.firstWords.map(\.word) + global)]
            + table.groups.map { arm($0, table.members(of: $0).map(\.word)) }
            + table.entries.map { arm($0.name, $0.options.map { "--\($0.name)" }) })
            .joined(separator: "\n")
    }

    private static func values(of table: CompletionTable) -> String {
        var arms: [String] = []
        func add(_ command: String, _ option: OptionSpecification) {
            let answer =
                switch CompletionTable.value(of: option) {
                case .none: ""
                case .choices(let words): words.joined(separator: " ")
                case .file: "FILE"
                case .folder: "DIR"
                case .free: "FREE"
                }
            if answer.isEmpty { return }
            arms.append("        '\(command) --\(option.name)') echo \"\(answer)\" ;;")
        }
        for option in GlobalOptions.specifications { add("", option) }
        for entry in table.entries { for option in entry.options { add(entry.name, option) } }
        return arms.joined(separator: "\n")
    }

    private static func function(groups: [String], filesOf table: CompletionTable) -> String {
        let files = table.entries.filter(\.takesFile).map { "'\($0.name)'" }
        return """
            # Takes what compgen finds, a line each: names of files have spaces.
            _lockkeeper_reply() {
                mapfile -t COMPREPLY < <(compgen "$@" -- "$cur")
                case "$1" in
                -f|-d|-c) compopt -o filenames 2>/dev/null ;;
                esac
            }

            _lockkeeper() {
                local cur="${COMP_WORDS[COMP_CWORD]}" command="" option="" index word expected
                COMPREPLY=()
                for ((index = 1; index < COMP_CWORD; index++)); do
                    word="${COMP_WORDS[index]}"
                    # Bash takes '--name=value' apart into three words.
                    if [ "$word" = "=" ]; then continue; fi
                    if [ -n "$option" ]; then option=""; continue; fi
                    case "$word" in
                    --) _lockkeeper_reply -c -f; return ;;
                    -*)
                        expected=$(_lockkeeper_value "$command" "$word")
                        if [ -n "$expected" ]; then option="$word"; fi
                        ;;
                    *)
                        case "$command" in
                        '') command="$word" ;;
                        \(groups.map { "'\($0)'" }.joined(separator: "|"))) command="$command $word" ;;
                        esac
                        ;;
                    esac
                done
                if [ -n "$option" ]; then
                    if [ "$cur" = "=" ]; then cur=""; fi
                    case "$expected" in
                    FILE) _lockkeeper_reply -f ;;
                    DIR) _lockkeeper_reply -d ;;
                    FREE) ;;
                    *) _lockkeeper_reply -W "$expected" ;;
                    esac
                    return
                fi
                _lockkeeper_reply -W "$(_lockkeeper_words "$command")"
                case "$command" in
                \(files.joined(separator: "|")))
                    [[ "$cur" == -* ]] || _lockkeeper_reply -f
                    ;;
                esac
            }
            """
    }
}
