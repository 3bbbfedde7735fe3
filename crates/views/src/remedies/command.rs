//! Remedies that lie in commands of other programs, in words.

use stats::remedy::Command;

use super::wording::{Wording, of_verb, plain};

pub(super) fn wording(remedy: Command) -> Wording {
    match remedy {
        Command::OneAfterTheOther => {
            plain("put stonewall into each job that is to wait for those above it")
        }
        Command::SixRuns => plain("take six runs or more, whose median has an interval"),
        Command::OneCursor => plain("take -o1 -t1, or a program with one cursor for its queue"),
        Command::OneThread => plain("take one thread, and a deeper queue"),
        Command::OtherBlocks => plain(
            "let it go on to other blocks (fio: leave the offset behind rw out; hdparm: take -t)",
        ),
        Command::EndBeforeNext => plain("end before that, or take one thread with a deeper queue"),
        Command::PartPerThread => plain(
            "give each its part (offset_increment, with size as large), or take one thread with a deeper queue",
        ),
        Command::RandomMap => plain(
            "leave norandommap out where each block is meant once; keep it for wear and steady state",
        ),
        Command::OtherAddressesEachTime => {
            plain("draw again each time (fio: randrepeat=0; diskspd: -z)")
        }
        Command::NoRandomMap => plain("write with norandommap and randrepeat=0"),
        Command::MixAtRandom => {
            plain("mix at random (rw=randrw), or give reads and writes files of their own")
        }
        Command::VerifyApart => plain("verify in a run of its own"),
        Command::DirectReads => {
            plain("read past it (fio: direct=1; diskspd: -Sd; dd: iflag=direct; hdparm: --direct)")
        }
        Command::FlushedDirectWrites => plain(
            "write past the cache and flush within the time (fio: direct=1 end_fsync=1; dd: oflag=direct conv=fdatasync)",
        ),
        Command::CountAtDevice => {
            plain("see the proof *reached* of drivescope, which counts at the device")
        }
        Command::FlushWithinTime => {
            plain("flush within the time (fio: end_fsync=1), or take mark --dsync")
        }
        Command::AsynchronousDirect => plain("take ioengine=io_uring or libaio with direct=1"),
        Command::MoreThanCache => plain("take more data than the drive has cache, 1 GiB at least"),
        Command::MoreData => plain("take more data (fio: or add time_based)"),
        Command::NameTargetSize => of_verb("add --target-size SIZE to know more"),
        Command::FileInAdvance => plain("write the file long before, or let drivescope do it"),
        Command::RandomData => plain("write random data"),
        Command::NewData => plain("write data that are new each time"),
        Command::ReportShares => plain("say so beside the number, or leave it out"),
        Command::CommandAlone => plain("give the command by itself"),
        Command::ConvertKib => plain("multiply by 1.024, or take MB/s from drivescope"),
        Command::MedianFromDrivescope => plain("take the median and its interval from drivescope"),
        Command::StorageEngine => plain("measure with ioengine=io_uring or libaio"),
        Command::PredictableEngine => {
            plain("take io_uring, libaio or psync for what is to be predicted")
        }
        Command::AddRuntime => plain("add runtime=30"),
        Command::EndByTime => {
            plain("add time_based, so that the job goes around instead of ending")
        }
        Command::LetItRun => plain("leave create_only out"),
        Command::ColdDirectReads => plain("leave invalidate=0 out, and read with direct=1"),
        Command::PreconditionAndJudge => {
            plain("precondition by bytes, and judge the log with `drivescope judge`")
        }
        Command::NoPauses => plain("leave thinktime out to measure what the drive can do"),
        Command::IntendedTimes => plain("take a plan with intended times, which counts from those"),
        Command::BinaryUnits => plain("write k, m or g, which are powers of 1024"),
        Command::LookAtAddresses => {
            plain("leave it out, or run the command and look at its addresses")
        }
        Command::LeaveOut => plain("leave it out"),
        Command::GeneratedData => plain("write data that are new each time (-Zr)"),
        Command::LineForLinux => plain("explain the line without it for the one for Linux"),
        Command::StateAlignment => plain("write the alignment out, such as -r4K"),
        Command::WarmUpOrNoLatency => plain("add -W5, or leave -L out"),
        Command::ConvertMib => plain("multiply by 1.048576, or take MB/s from drivescope"),
        Command::OtherFilesystem => plain("measure on another filesystem, or with drivescope"),
        Command::RandomFile => {
            plain("let drivescope make the file, or write random data to it before")
        }
        Command::WholeBlocks => plain("take bs=1M with a larger count, or iflag=fullblock"),
        Command::DeeperQueueToo => plain("take SEQ1MQ8T1 beside SEQ1MQ1T1"),
        Command::LargerBlocks => plain("add bs=1M"),
        Command::NameFile => plain("name a file or device"),
        Command::LimitAmount => plain("add count=1024 with bs=1M"),
        Command::PreparedData => plain("write what is not made meanwhile, as drivescope does"),
        Command::OverwriteInPlace => plain("add conv=notrunc to overwrite in place"),
        Command::NoCachedReads => plain("leave -T out"),
        Command::SeveralOffsets => of_verb("measure at several offsets with --span"),
        Command::UseDirectIo => plain("measure with direct I/O"),
        Command::FilesOfOneTest => {
            plain("import files of one test together, and others by themselves")
        }
        Command::LongerRun => plain("let it run for longer"),
        Command::JsonOfThreads => plain("give fio's JSON too, which maps threads to jobs"),
        Command::WholeIntervals => plain(
            "let the run last a whole number of intervals, or leave the end out of what is concluded",
        ),
        Command::AllLogs => plain("give the logs of all threads, and of the whole run"),
        Command::RepeatWithoutError => plain("repeat it without the error"),
        Command::AsynchronousIo => plain("measure with io_uring or libaio"),
        Command::UniformAddresses => plain("write with norandommap=1 and randrepeat=0"),
        Command::UniformOrAsIs => {
            plain("write with norandommap=1, or take the figure for what it is")
        }
        Command::OptionsWithValues => {
            plain("give options a value (norandommap=1): fio's JSON leaves out those without one")
        }
        Command::FewerSamples => {
            plain("take a longer ss_interval or a shorter ss_dur, so that there are fewer samples")
        }
        Command::LogEachLatency => plain(
            "log latencies I/O by I/O (write_lat_log without log_avg_msec), and take percentiles of those",
        ),
        Command::LogTails => plain(
            "log without log_avg_msec, or with log_window_value=both, or write a histogram log",
        ),
        Command::CompareBest => {
            plain("compare it with the best run of others, not with their median")
        }
        Command::MeasureRandomData => plain("measure with random data"),
        Command::UseIops => plain(
            "take the IOPS: programs that print this form count 1,024,000 bytes as an MB (KDiskMark)",
        ),
        Command::OtherAddressesEachRound => plain("write with randrepeat=0 and norandommap=1"),
        Command::FullEzfio => plain("run ezFIO without --quickie"),
        Command::FilesOfOneRun => plain(
            "give the JSON and the logs of one run, and remove older logs of the same name first",
        ),
        Command::TkperfAddresses => plain("give TKperf --xargs randrepeat=0 norandommap"),
        Command::MeasureUniform => {
            plain("write with norandommap=1 and randrepeat=0, and measure again")
        }
        Command::JudgeWrites => {
            plain("judge the result of the writes that came before on the same drive")
        }
        Command::LogBandwidth => plain(
            "run fio with write_bw_log=NAME and log_avg_msec=1000, and give the logs with the JSON",
        ),
        Command::JudgeLogsOfFio => {
            plain("judge the logs of a run of fio: ezFIO keeps a series of one test only")
        }
        Command::TestWithRounds => plain("give the XML of a test that came to its rounds"),
        Command::FioForDiskspd => {
            plain("measure with fio and its logs: diskspd's reports have totals only")
        }
        Command::FioForCrystaldiskmark => {
            plain("measure with fio and its logs: CrystalDiskMark shows the best of its runs only")
        }
        Command::BandwidthLogToo => plain(
            "give the bandwidth log too: a histogram log does not record the bytes of each interval",
        ),
        Command::BandwidthLogOrJson => {
            plain("give the bandwidth log, or the JSON whose block size makes bytes of I/Os")
        }
        Command::CheckSizes => of_verb("check the file, --capacity and --over-provisioning"),
        Command::RemoveHindrance => plain("remove what held the drive up, and measure again"),
        Command::MeanOfPeriods => {
            plain("report the mean of whole periods with its range, or the worst half drive write")
        }
        Command::NameCapacity => of_verb(
            "give --capacity, or --whole-drive when the range addressed was all of the drive",
        ),
        Command::NameUniform => of_verb(
            "give --uniform if the addresses were drawn uniformly (norandommap), or fio's JSON with norandommap=1",
        ),
    }
}
