//! Remedies that lie in a run of drivescope: its target, its settings, or what goes on around it.

use super::list::remedies;

remedies! {
    /// Changes to a run of drivescope, or to its target.
    Run {
        /// Resume the run, or repeat it.
        FinishOrRepeat = "finish_or_repeat",
        /// Resume the run.
        Finish = "finish",
        /// Resume the run, of which enough repetitions are planned.
        FinishPlannedRuns = "finish_planned_runs",
        /// Check the drive's connection and power, and measure again.
        Reconnect = "reconnect",
        /// Look at the drive's health, and measure a part without the defect.
        AvoidDefect = "avoid_defect",
        /// Measure another part of the drive, or reads only.
        AnotherPart = "another_part",
        /// Look for the cause in the kernel's log and in the drive's health.
        FindCause = "find_cause",
        /// Let nothing shorten the target, and measure again.
        KeepLength = "keep_length",
        /// Measure without resuming.
        OneStretch = "one_stretch",
        /// Find and mend the fault, and begin a new run.
        MendDrive = "mend_drive",
        /// Allow more time, or be content with wider intervals.
        LargerBudget = "larger_budget",
        /// Allow more to be written.
        LargerWriteBudget = "larger_write_budget",
        /// Bypass the page cache, which this run did not by wish.
        DirectIo = "direct_io",
        /// Bypass the page cache, so that the drive is reached.
        DirectToDrive = "direct_to_drive",
        /// Measure a file in one piece, or the device.
        ContiguousFile = "contiguous_file",
        /// Measure a file that is written as usual ones are.
        UsualFile = "usual_file",
        /// Have the test file made without copying on write, or measure the device.
        NoCopyOnWrite = "no_copy_on_write",
        /// Measure a directory without copying on write, or the device.
        NoCopyOnWriteDirectory = "no_copy_on_write_directory",
        /// Take more runs, further apart.
        MoreRunsApart = "more_runs_apart",
        /// Give each measured phase a step of its own.
        StepPerPhase = "step_per_phase",
        /// Measure longer.
        LongerDuration = "longer_duration",
        /// Address several times what the drive's cache holds.
        LargerSpan = "larger_span",
        /// Find what alternates between runs, and take more of them.
        FindAlternation = "find_alternation",
        /// Wait longer for the drive to recover from writes.
        LongerSettle = "longer_settle",
        /// Warm up and measure longer, or let the drive rest.
        LongerWarmUp = "longer_warm_up",
        /// Write more than the cache holds, or durably.
        OverfillCache = "overfill_cache",
        /// Use an engine that keeps several I/Os outstanding, or depth 1.
        AsynchronousEngine = "asynchronous_engine",
        /// Free the machine, take fewer threads, or a lighter engine.
        LighterTester = "lighter_tester",
        /// Stop what else uses the drive or the CPU.
        StopOthers = "stop_others",
        /// Give an array its member back.
        RebuildArray = "rebuild_array",
        /// Measure one drive by itself.
        MeasureAlone = "measure_alone",
        /// Name a target that does I/O.
        NameTarget = "name_target",
        /// Name a target on a real drive.
        RealDrive = "real_drive",
        /// Measure the drive itself.
        MeasureDrive = "measure_drive",
        /// Measure a file that is stored as it is.
        PlainFile = "plain_file",
        /// Write the file in full, or let drivescope make one.
        WrittenFile = "written_file",
        /// Measure the drive under the image, or an image that was written in full.
        DriveUnderImage = "drive_under_image",
        /// Use a filesystem that honours direct I/O, or the device.
        HonourDirectIo = "honour_direct_io",
        /// Write the span before it is read, or measure a file.
        WriteSpanFirst = "write_span_first",
        /// Measure what a filled drive keeps up, with `pts`.
        SustainedRate = "sustained_rate",
        /// Make each write durable.
        DurableWrites = "durable_writes",
        /// Rely on no flush of this drive.
        DistrustFlushes = "distrust_flushes",
        /// Name targets of one kind, with the same region.
        SameRegion = "same_region",
        /// Name targets on devices of their own.
        SeparateDevices = "separate_devices",
        /// Measure both together, or with one plan.
        SamePlan = "same_plan",
        /// Measure all sides with drivescope.
        MeasureAllSides = "measure_all_sides",
        /// Name all targets in one command, which measures them in blocks.
        MeasureInBlocks = "measure_in_blocks",
        /// Look at single runs, of which the median is of no group.
        LookAtRuns = "look_at_runs",
        /// Bring the drives to a steady state, and measure them in turns.
        MeasureInTurns = "measure_in_turns",
        /// Take levels whose results hold, with two runs of each.
        ConfirmedLevels = "confirmed_levels",
        /// Let settings take turns in blocks.
        InterleaveSettings = "interleave_settings",
        /// Look at the failed proofs, and take levels without them.
        LookAtProofs = "look_at_proofs",
        /// Measure again with the circumstances of before.
        RestoreCircumstances = "restore_circumstances",
        /// Measure two runs more.
        MeasureTwiceMore = "measure_twice_more",
        /// Look at the points, which may come back.
        LookAtPoints = "look_at_points",
        /// Probe the device, or a loop device with direct I/O.
        ProbeDevice = "probe_device",
        /// Probe a storage device.
        ProbeStorage = "probe_storage",
        /// Probe the drive on the machine that it is connected to.
        ProbeLocally = "probe_locally",
        /// Stop what else uses the drive, and probe again.
        StopOthersAndProbe = "stop_others_and_probe",
        /// Let the drive cool down, and probe again.
        CoolDown = "cool_down",
        /// Probe a larger region, or a drive without a cache above it.
        LargerRegion = "larger_region",
        /// Write the drive once and probe again, or take the size from its data sheet.
        WriteOnceOrDataSheet = "write_once_or_data_sheet",
        /// None is needed.
        Nothing = "nothing",
        /// None is needed: rows are means of the places that there are.
        NothingForRows = "nothing_for_rows",
        /// Precondition longer, or repeat the sweep of depths.
        PreconditionLonger = "precondition_longer",
        /// Ask for a smaller share of the rate.
        SmallerShare = "smaller_share",
        /// Cool the drive, or free the machine.
        CoolOrFree = "cool_or_free",
        /// Measure on a machine that does nothing else.
        IdleMachine = "idle_machine",
        /// Look at rates over bytes, which have no steady value.
        LookAtRates = "look_at_rates",
        /// Measure until the drive is steady by bytes written.
        SteadyByBytes = "steady_by_bytes",
        /// Precondition until the drive is steady by bytes written.
        PreconditionByBytes = "precondition_by_bytes",
        /// Have the kernel read the partition table again.
        RereadPartitions = "reread_partitions",
        /// Format the drive back where its former form matters.
        FormatBack = "format_back",
        /// Use a method of the drive's own against loss of secrets.
        MethodForSecrets = "method_for_secrets",
        /// Use a method of the drive's own, or discard afterwards.
        MethodForFreshState = "method_for_fresh_state",
        /// Have the format erase the data.
        FormatWithErase = "format_with_erase",
    }
}
