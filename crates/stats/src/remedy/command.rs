//! Remedies that lie in a command of another program, or in what is kept of its results.

use super::list::remedies;

remedies! {
    /// Changes to a command of another program, or to its results.
    Command {
        /// Let jobs run one after the other.
        OneAfterTheOther = "one_after_the_other",
        /// Repeat the command six times or more.
        SixRuns = "six_runs",
        /// Keep one cursor for all I/Os outstanding.
        OneCursor = "one_cursor",
        /// Take one thread with a deeper queue.
        OneThread = "one_thread",
        /// Move on from block to block.
        OtherBlocks = "other_blocks",
        /// End before the part of the next thread, or take one thread.
        EndBeforeNext = "end_before_next",
        /// Give each thread a part of its own, or take one thread.
        PartPerThread = "part_per_thread",
        /// Keep a random map where each block is meant once.
        RandomMap = "random_map",
        /// Draw other addresses each time.
        OtherAddressesEachTime = "other_addresses_each_time",
        /// Draw without a map, and others each time.
        NoRandomMap = "no_random_map",
        /// Mix reads and writes at random, or give them files of their own.
        MixAtRandom = "mix_at_random",
        /// Verify in a run of its own.
        VerifyApart = "verify_apart",
        /// Read past the page cache.
        DirectReads = "direct_reads",
        /// Write past the page cache, and flush within the time.
        FlushedDirectWrites = "flushed_direct_writes",
        /// Measure with drivescope, which counts at the device.
        CountAtDevice = "count_at_device",
        /// Flush within the time.
        FlushWithinTime = "flush_within_time",
        /// Take an engine that keeps several direct I/Os outstanding.
        AsynchronousDirect = "asynchronous_direct",
        /// Take more data than a drive's cache holds.
        MoreThanCache = "more_than_cache",
        /// Take more data, or end by time.
        MoreData = "more_data",
        /// Name the size of the target.
        NameTargetSize = "name_target_size",
        /// Write the file long before.
        FileInAdvance = "file_in_advance",
        /// Write random data.
        RandomData = "random_data",
        /// Write data that do not repeat.
        NewData = "new_data",
        /// Report the shares with the result, or leave them out.
        ReportShares = "report_shares",
        /// Explain the command without the line around it.
        CommandAlone = "command_alone",
        /// Convert from KiB/s divided by 1000.
        ConvertKib = "convert_kib",
        /// Take median and interval from drivescope.
        MedianFromDrivescope = "median_from_drivescope",
        /// Take an engine that reaches a drive.
        StorageEngine = "storage_engine",
        /// Take an engine that can be predicted.
        PredictableEngine = "predictable_engine",
        /// Set a run time.
        AddRuntime = "add_runtime",
        /// End by time.
        EndByTime = "end_by_time",
        /// Let the job run.
        LetItRun = "let_it_run",
        /// Drop the page cache, and read past it.
        ColdDirectReads = "cold_direct_reads",
        /// Precondition by bytes, and have the log judged.
        PreconditionAndJudge = "precondition_and_judge",
        /// Leave pauses out.
        NoPauses = "no_pauses",
        /// Take a plan with intended times.
        IntendedTimes = "intended_times",
        /// Write units of powers of 1024.
        BinaryUnits = "binary_units",
        /// Leave the option out, or look at the addresses issued.
        LookAtAddresses = "look_at_addresses",
        /// Leave the option out.
        LeaveOut = "leave_out",
        /// Write data from a generator, as diskspd does with -Zr.
        GeneratedData = "generated_data",
        /// Explain the line for the program of this system.
        LineForLinux = "line_for_linux",
        /// State the alignment.
        StateAlignment = "state_alignment",
        /// Warm up, or measure no latency.
        WarmUpOrNoLatency = "warm_up_or_no_latency",
        /// Convert from MiB/s.
        ConvertMib = "convert_mib",
        /// Use another filesystem, or drivescope.
        OtherFilesystem = "other_filesystem",
        /// Fill the file with random data.
        RandomFile = "random_file",
        /// Read whole blocks, or smaller ones.
        WholeBlocks = "whole_blocks",
        /// Measure a queue of eight too.
        DeeperQueueToo = "deeper_queue_too",
        /// Take larger blocks.
        LargerBlocks = "larger_blocks",
        /// Name a file or device.
        NameFile = "name_file",
        /// Limit the amount.
        LimitAmount = "limit_amount",
        /// Write data that are prepared before.
        PreparedData = "prepared_data",
        /// Overwrite in place.
        OverwriteInPlace = "overwrite_in_place",
        /// Leave the timing of the cache out.
        NoCachedReads = "no_cached_reads",
        /// Measure at several offsets.
        SeveralOffsets = "several_offsets",
        /// Measure with direct I/O.
        UseDirectIo = "use_direct_io",
        /// Import files of one test together.
        FilesOfOneTest = "files_of_one_test",
        /// Let it run for longer.
        LongerRun = "longer_run",
        /// Give the JSON that says which thread is of which job.
        JsonOfThreads = "json_of_threads",
        /// Run for a whole number of intervals, or leave the end out.
        WholeIntervals = "whole_intervals",
        /// Give the logs of all threads over the whole run.
        AllLogs = "all_logs",
        /// Repeat it without the error.
        RepeatWithoutError = "repeat_without_error",
        /// Take io_uring or libaio.
        AsynchronousIo = "asynchronous_io",
        /// Write without a random map and without repeating.
        UniformAddresses = "uniform_addresses",
        /// Write without a random map, or take the figure for what it is.
        UniformOrAsIs = "uniform_or_as_is",
        /// Give options with their values.
        OptionsWithValues = "options_with_values",
        /// Take fewer samples for the slope.
        FewerSamples = "fewer_samples",
        /// Log each latency.
        LogEachLatency = "log_each_latency",
        /// Log each latency, both values of windows, or a histogram.
        LogTails = "log_tails",
        /// Compare with the best run of others.
        CompareBest = "compare_best",
        /// Measure with random data.
        MeasureRandomData = "measure_random_data",
        /// Use the IOPS.
        UseIops = "use_iops",
        /// Write each round at other addresses.
        OtherAddressesEachRound = "other_addresses_each_round",
        /// Let ezFIO run in full.
        FullEzfio = "full_ezfio",
        /// Give files of one run.
        FilesOfOneRun = "files_of_one_run",
        /// Have TKperf draw other addresses each round.
        TkperfAddresses = "tkperf_addresses",
        /// Write without a random map and without repeating, and measure again.
        MeasureUniform = "measure_uniform",
        /// Judge the result of the writes before.
        JudgeWrites = "judge_writes",
        /// Run fio with a log of bandwidth, and give it too.
        LogBandwidth = "log_bandwidth",
        /// Judge the logs of fio, of which ezFIO keeps one only.
        JudgeLogsOfFio = "judge_logs_of_fio",
        /// Give the results of a test that came to its rounds.
        TestWithRounds = "test_with_rounds",
        /// Measure with fio, since diskspd reports totals only.
        FioForDiskspd = "fio_for_diskspd",
        /// Measure with fio, since CrystalDiskMark shows the best of its runs only.
        FioForCrystaldiskmark = "fio_for_crystaldiskmark",
        /// Give the log of bandwidth too.
        BandwidthLogToo = "bandwidth_log_too",
        /// Give the log of bandwidth, or the JSON with the block size.
        BandwidthLogOrJson = "bandwidth_log_or_json",
        /// Check the file, and the sizes that were named.
        CheckSizes = "check_sizes",
        /// Remove what slowed the drive down, and measure again.
        RemoveHindrance = "remove_hindrance",
        /// Report the mean of whole periods with its range.
        MeanOfPeriods = "mean_of_periods",
        /// Name the capacity of the drive.
        NameCapacity = "name_capacity",
        /// State that addresses were drawn uniformly, or give the JSON that says so.
        NameUniform = "name_uniform",
    }
}
