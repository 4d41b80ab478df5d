/// Every command of the program, in the order of the help.
enum CommandList {
    static let all: [any Command.Type] = [
        HostCommand.self,
        AccountAddCommand.self,
        AccountListCommand.self,
        AccountActivateCommand.self,
        AccountSignOutCommand.self,
        AccountRemoveCommand.self,
        SwitchCommand.self,
        IngestCommand.self,
        TailCommand.self,
        ConversationsCommand.self,
        TimelineCommand.self,
        MessageCommand.self,
        SearchCommand.self,
        UnreadCommand.self,
        CursorsCommand.self,
        SendCommand.self,
        EditCommand.self,
        RecallCommand.self,
        DeleteCommand.self,
        ReactCommand.self,
        ReadCommand.self,
        ClearCommand.self,
        PurgeCommand.self,
        OutboxRunCommand.self,
        OutboxListCommand.self,
        OutboxRetryCommand.self,
        OutboxCancelCommand.self,
        EffectsRunCommand.self,
        EffectsListCommand.self,
        EffectsRetryCommand.self,
        EffectsDropCommand.self,
        ExportCommand.self,
        QuarantineListCommand.self,
        QuarantineShowCommand.self,
        QuarantineRetryCommand.self,
        QuarantineAcceptCommand.self,
        QuarantineDropCommand.self,
        InboxListCommand.self,
        InboxShowCommand.self,
        InboxDrainCommand.self,
        InboxRetryCommand.self,
        InboxDropCommand.self,
        SettingsGetCommand.self,
        SettingsSetCommand.self,
        SettingsUnsetCommand.self,
        SettingsListCommand.self,
        SecretsSetCommand.self,
        SecretsGetCommand.self,
        SecretsDeleteCommand.self,
        SecretsListCommand.self,
        StatusCommand.self,
        TopCommand.self,
        CheckCommand.self,
        DoctorCommand.self,
        MigrateCommand.self,
        BackupCommand.self,
        RestoreCommand.self,
        RepairCommand.self,
        KeyChangeCommand.self,
        KeyListCommand.self,
        KeyRemoveCommand.self,
        DemoCommand.self,
        BenchIngestCommand.self,
        BenchContentionCommand.self,
        BenchNotifyCommand.self,
        BenchSubscribersCommand.self,
        BenchPageCommand.self,
        BenchConversationsCommand.self,
        BenchSwitchCommand.self,
        BenchSearchCommand.self,
        BenchGrowthCommand.self,
        BenchHelperCommand.self,
        BenchMediaCommand.self,
        BenchOpenCommand.self,
        BenchWorkerCommand.self,
        BenchNoticeWorkerCommand.self,
        StressCommand.self,
        StressWorkerCommand.self,
        SimulateSwitchCommand.self,
        SimulateWorkerCommand.self,
        CompletionsCommand.self,
        ManCommand.self,
    ]

    /// Finds the command that some words begin with, and how many of them name it.
    ///
    /// - Throws: ``UsageError`` that suggests what may have been meant.
    static func find(
        _ words: ArraySlice<String>
    ) throws(UsageError) -> (command: any Command.Type, wordCount: Int) {
        for command in all {
            let name = command.name.split(separator: " ").map(String.init)
            if words.prefix(name.count).elementsEqual(name) { return (command, name.count) }
        }
        guard let first = words.first else {
            throw UsageError("A command is missing. 'lockkeeper --help' lists them.")
        }
        let group = all.map { $0.name }.filter { $0.hasPrefix(first + " ") }
        if !group.isEmpty {
            throw UsageError("'\(first)' needs one more word: \(group.joined(separator: ", ")).")
        }
        let nearest = all.min { editDistance($0.name, first) < editDistance($1.name, first) }
        if let nearest, editDistance(nearest.name, first) <= 2 {
            throw UsageError("There is no command '\(first)'. Did you mean '\(nearest.name)'?")
        }
        throw UsageError("There is no command '\(first)'. 'lockkeeper --help' lists them.")
    }
}
