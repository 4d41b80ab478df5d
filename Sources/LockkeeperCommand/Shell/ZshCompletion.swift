/// The completion of zsh: the words of each command, with what they do.
enum ZshCompletion {
    /// The script, as a function file of zsh's path.
    static var script: String {
        let table = CompletionTable()
        let first = GlobalOptions.specifications.map(specification)
        return """
            #compdef lockkeeper
            # Completion of lockkeeper for zsh, made by 'lockkeeper completions zsh'.

            _lockkeeper() {
                local command="" option="" word index
                local -i last=1
                for ((index = 2; index < CURRENT; index++)); do
                    word=$words[index]
                    if [[ -n $option ]]; then option=""; continue; fi
                    case $word in
                    --root|--account) option=$word ;;
                    -*) ;;
                    *)
                        case $command in
                        '') command=$word; last=$index ;;
                        \(table.groups.map(quoted).joined(separator: "|")))
                            command="$command $word"; last=$index; break ;;
                        *) break ;;
                        esac
                        ;;
                    esac
                done
                local -a names
                case $command in
                '')
                    if [[ -n $option || $words[CURRENT] == -* ]]; then
                        _arguments \(first.joined(separator: " ")) \
            '--version[name the versions]'
                        return
                    fi
                    names=(\(described(table.firstWords)))
                    _describe -t commands command names
                    return ;;
            \(table.groups.map { group(table, $0) }.joined(separator: "\n"))
                esac
                # What stands before the command's last word is done with.
                words=("lockkeeper" "${(@)words[last+1,-1]}")
                (( CURRENT -= last - 1 ))
                case $command in
            \(table.entries.map(arm).joined(separator: "\n"))
                esac
            }

            if [[ $funcstack[1] == _lockkeeper ]]; then _lockkeeper "$@"; else compdef _lockkeeper lockkeeper; fi
            """
    }

    private static func group(_ table: CompletionTable, _ group: String) -> String {
        """
            \(quoted(group)))
                names=(\(described(table.members(of: group))))
                _describe -t commands '\(group) command' names
                return ;;
        """
    }

    private static func described(_ words: [(word: String, summary: String)]) -> String {
        words.map { quoted("\($0.word):\($0.summary)") }.joined(separator: " ")
    }

    private static func arm(_ entry: CompletionTable.Entry) -> String {
        let rest = entry.takesFile ? "'*:file:_files'" : "'*::argument:_default'"
        let all = entry.options.map(specification) + [rest]
        return "    \(quoted(entry.name))) _arguments -S \(all.joined(separator: " ")) ;;"
    }

    /// An option as `_arguments` reads it: `--name=[summary]:what:action`.
    private static func specification(_ option: OptionSpecification) -> String {
        let summary = option.summary
            .replacing("\\", with: "\\\\").replacing("[", with: "\\[").replacing("]", with: "\\]")
            .replacing(":", with: "\\:")
        let action: String
        switch CompletionTable.value(of: option) {
        case .none where option.isValueOptional:
            return quoted("--\(option.name)=-[\(summary)]::\(option.value ?? ""): ")
        case .none: return quoted("--\(option.name)[\(summary)]")
        case .choices(let words): action = "(\(words.joined(separator: " ")))"
        case .file: action = "_files"
        case .folder: action = "_files -/"
        case .free: action = " "
        }
        let placeholder = (option.value ?? "").replacing(":", with: "\\:")
        return quoted("--\(option.name)=[\(summary)]:\(placeholder):\(action)")
    }

    /// A text as one word of a shell.
    private static func quoted(_ text: String) -> String {
        "'\(text.replacing("'", with: #"'\''"#))'"
    }
}
