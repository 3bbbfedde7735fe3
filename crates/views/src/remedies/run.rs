//! Remedies that lie in a run of drivescope, in words.

use stats::remedy::Run;

use super::wording::{Wording, of_verb, plain};

pub(super) fn wording(remedy: Run) -> Wording {
    match remedy {
        Run::FinishOrRepeat => plain("resume it, or run it again"),
        Run::Finish => plain("resume it"),
        Run::FinishPlannedRuns => plain("resume it: enough runs are planned"),
        Run::Reconnect => plain(
            "see that the drive is connected and has power (cable, port, slot), and measure it again",
        ),
        Run::AvoidDefect => of_verb(
            "the drive has a defect at that place: look at `drivescope health`, and measure another part with --span",
        ),
        Run::AnotherPart => of_verb(
            "the drive does not do this there: measure another part with --span, or reads only",
        ),
        Run::FindCause => plain(
            "look at the kernel's log for the cause, and at `drivescope health` for the drive's own word",
        ),
        Run::KeepLength => plain("let nothing shorten it meanwhile, and measure it again"),
        Run::OneStretch => of_verb("for numbers of one stretch, run it again without --resume"),
        Run::MendDrive => plain(
            "find the cause in the kernel's log and with `drivescope health`, and begin a new run when it is mended",
        ),
        Run::LargerBudget => of_verb("give a larger --budget, or a wider --until"),
        Run::LargerWriteBudget => of_verb("give a larger --write-budget"),
        Run::DirectIo => of_verb("leave --buffered out to measure the drive"),
        Run::DirectToDrive => of_verb("leave --buffered out"),
        Run::ContiguousFile => {
            plain("measure on a filesystem with more free space in one piece, or the device itself")
        }
        Run::UsualFile => of_verb(
            "for what usual files get, leave --no-cow out, or measure one without chattr +C",
        ),
        Run::NoCopyOnWrite => of_verb(
            "this is the filesystem's number; for one nearer to the drive's, add --no-cow, which makes a test file in a directory without copying and checksums, or measure the device",
        ),
        Run::NoCopyOnWriteDirectory => plain(
            "this is the filesystem's number; for the drive's, measure a directory without copying (chattr +C) or the device",
        ),
        Run::MoreRunsApart => of_verb("take more --runs with a longer --pause"),
        Run::StepPerPhase => plain(
            "give each measured phase a step of its own, with what comes before it as warm-up",
        ),
        Run::LongerDuration => of_verb("take a longer --duration"),
        Run::LargerSpan => of_verb("take a --size or --span several times the drive's cache"),
        Run::FindAlternation => of_verb(
            "look at what alternates between runs (background work, zones, temperature) and take more --runs",
        ),
        Run::LongerSettle => of_verb("use a longer --settle"),
        Run::LongerWarmUp => {
            of_verb("take a longer --warm-up and --duration, or let the drive rest with --pause")
        }
        Run::OverfillCache => of_verb(
            "take a longer --warm-up and --duration, so that more is written than the cache holds, or --dsync",
        ),
        Run::AsynchronousEngine => {
            of_verb("psync has one I/O outstanding per thread: use --engine io_uring, or depth 1")
        }
        Run::LighterTester => of_verb(
            "leave the machine otherwise idle, take fewer threads than CPUs, or a lighter --engine",
        ),
        Run::StopOthers => plain("stop what else uses the drive or the CPU and run again"),
        Run::RebuildArray => {
            plain("give the array its member back and let it rebuild, or take this for what it is")
        }
        Run::MeasureAlone => plain("for one drive's figure, measure it by itself"),
        Run::NameTarget => plain("name a directory, a file or a device to measure one"),
        Run::RealDrive => plain("name a directory or device on a real drive"),
        Run::MeasureDrive => plain("measure the drive itself"),
        Run::PlainFile => plain("measure a file that is stored neither compressed nor encrypted"),
        Run::WrittenFile => {
            plain("write the file fully first, or name its directory and let drivescope make one")
        }
        Run::DriveUnderImage => plain(
            "measure the drive under the image, or an image that was written fully, in one that stores it as it is",
        ),
        Run::HonourDirectIo => {
            plain("use a filesystem that honours O_DIRECT, or the device itself")
        }
        Run::WriteSpanFirst => plain(
            "if that may be so here, write the span first, or measure a file on its filesystem",
        ),
        Run::SustainedRate => plain("measure the sustained rate with drivescope pts"),
        Run::DurableWrites => of_verb("add --dsync for durable writes"),
        Run::DistrustFlushes => plain(
            "do not trust it with a database: it answers before the data is safe, unless a controller's battery or the host of this virtual machine keeps it",
        ),
        Run::SameRegion => of_verb(
            "name targets of one kind, and for the same region --size (of a directory) or --span",
        ),
        Run::SeparateDevices => plain("to compare drives, name targets on different devices"),
        Run::SamePlan => {
            plain("measure them together, or each with one plan (drivescope run PLAN.toml)")
        }
        Run::MeasureAllSides => {
            plain("measure all sides with drivescope, which proves what it says")
        }
        Run::MeasureInBlocks => plain("name the targets, and drivescope measures them in blocks"),
        Run::LookAtRuns => {
            plain("look at the single runs: a median of both groups is the speed of neither")
        }
        Run::MeasureInTurns => {
            plain("bring the drives to a steady state or to rest, and measure them in turns")
        }
        Run::ConfirmedLevels => {
            plain("take levels whose numbers stand, and two runs of each at least")
        }
        Run::InterleaveSettings => {
            of_verb("leave out --order blocked: settings then take turns in blocks")
        }
        Run::LookAtProofs => {
            plain("see the proofs of the withdrawn settings, and take levels that stand")
        }
        Run::RestoreCircumstances => {
            plain("measure once more with what it was before: only then it is the drive")
        }
        Run::MeasureTwiceMore => plain("measure again: two more runs show whether it stays there"),
        Run::LookAtPoints => {
            plain("look at the points: a change of this size may go back as it came")
        }
        Run::ProbeDevice => plain("probe the device itself, or set the loop up with direct I/O"),
        Run::ProbeStorage => plain("probe a storage device"),
        Run::ProbeLocally => plain("probe the drive where it is"),
        Run::StopOthersAndProbe => plain("end what else uses the drive, and probe again"),
        Run::CoolDown => plain("let it cool down, and probe again"),
        Run::LargerRegion => plain("probe a larger region, or a drive without a cache in between"),
        Run::WriteOnceOrDataSheet => plain(
            "write the whole drive once and probe again, or take the size from its data sheet",
        ),
        Run::Nothing => plain("nothing needs to be done"),
        Run::NothingForRows => {
            plain("nothing needs to be done: each row is the mean of the places that there are")
        }
        Run::PreconditionLonger => {
            plain("the depths are not of one state: precondition longer, or repeat the sweep")
        }
        Run::SmallerShare => of_verb("ask for a smaller share with --open-loop"),
        Run::CoolOrFree => plain("cool the drive, or take the machine's other work away"),
        Run::IdleMachine => plain("run again on a machine that does nothing else"),
        Run::LookAtRates => plain(
            "look at its rates over bytes: they do not come to rest, so no one number stands for them",
        ),
        Run::SteadyByBytes => of_verb("measure again with --until bytes"),
        Run::PreconditionByBytes => of_verb(
            "write uniform random addresses until the drive is steady by bytes (--until bytes)",
        ),
        Run::RereadPartitions => {
            plain("let it look again (blockdev --rereadpt), or reconnect the drive")
        }
        Run::FormatBack => plain(
            "what was partitioned or measured by the old form does not fit; format it back if that matters",
        ),
        Run::MethodForSecrets => plain(
            "fit to bring a drive near to its fresh state; against loss of secrets use a method of the drive's own",
        ),
        Run::MethodForFreshState => plain(
            "use a method of the drive's own, or discard afterwards, to bring an SSD to its fresh state",
        ),
        Run::FormatWithErase => of_verb("ask for --ses 1 where the data must go"),
    }
}
