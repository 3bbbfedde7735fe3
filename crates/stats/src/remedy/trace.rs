//! Remedies that lie in a recording of I/O, in how it is read, or in its replay.

use super::list::remedies;

remedies! {
    /// Changes to a recording, to its reading, or to its replay.
    Trace {
        /// Record with larger buffers.
        LargerBuffers = "larger_buffers",
        /// Read strictly, to see the rows that were left out.
        ReadStrictly = "read_strictly",
        /// Replay the trace, which records completions.
        ReplayForCompletions = "replay_for_completions",
        /// Record until the device is idle.
        RecordUntilIdle = "record_until_idle",
        /// Look at the errors in the JSON and in the kernel's log.
        LookAtErrors = "look_at_errors",
        /// Use the trace's order and rates only.
        OrderAndRates = "order_and_rates",
        /// Take depth and activity as lower bounds.
        LowerBounds = "lower_bounds",
        /// Choose one of the stacked devices.
        ChooseDevice = "choose_device",
        /// Record queue events.
        RecordQueueEvents = "record_queue_events",
        /// Replay on a drive that may be written.
        WritableTarget = "writable_target",
        /// Look at failed I/Os, which took no time of the drive.
        LookAtFailures = "look_at_failures",
        /// Replay on a larger target, where addresses do not meet.
        LargerTargetForReuse = "larger_target_for_reuse",
        /// Replay on a larger target.
        LargerTarget = "larger_target",
        /// Take the figures as those of what was issued.
        FiguresOfIssued = "figures_of_issued",
        /// Give the replayer more CPU, or slow the trace down.
        MoreCpu = "more_cpu",
        /// Find why a replay ended early.
        CompleteReplays = "complete_replays",
        /// Replay on a drive that nothing else uses.
        QuietDrive = "quiet_drive",
        /// Write the file in full, or replay on a device.
        WriteFileFirst = "write_file_first",
        /// Take the times as those of the tester.
        TimesOfTester = "times_of_tester",
    }
}
