//! Remedies that lie in a recording of I/O or its replay, in words.

use stats::remedy::Trace;

use super::wording::{Wording, of_verb, plain};

pub(super) fn wording(remedy: Trace) -> Wording {
    match remedy {
        Trace::LargerBuffers => plain("record again with larger buffers"),
        Trace::ReadStrictly => of_verb("read without --lenient to see the first of them"),
        Trace::ReplayForCompletions => plain("replay it on a drive, which records them"),
        Trace::RecordUntilIdle => plain("record until the device is idle, and without losses"),
        Trace::LookAtErrors => plain("see errors_by_number in the JSON, and the kernel's log"),
        Trace::OrderAndRates => plain("take its order and its rates only"),
        Trace::LowerBounds => plain("take queue depth and activity for lower bounds"),
        Trace::ChooseDevice => of_verb("choose what to look at with --device"),
        Trace::RecordQueueEvents => plain("record queue events too"),
        Trace::WritableTarget => plain("replay on a drive that may be written, and consent to it"),
        Trace::LookAtFailures => {
            plain("look at the errors: what fails at once costs the drive nothing")
        }
        Trace::LargerTargetForReuse => {
            plain("use a larger target: caches see more reuse than in the original")
        }
        Trace::LargerTarget => plain("use a larger target"),
        Trace::FiguresOfIssued => plain("the figures are of what was issued"),
        Trace::MoreCpu => plain("give it more CPU, or slow the trace down"),
        Trace::CompleteReplays => {
            plain("look why a replay ended early; sums of Q2C cannot be compared so")
        }
        Trace::QuietDrive => {
            plain("replay on a drive that nothing else uses, or keep the system still")
        }
        Trace::WriteFileFirst => plain(
            "write the file in full first (not with truncate or fallocate), or replay on a device",
        ),
        Trace::TimesOfTester => plain("take these times for those of the tester"),
    }
}
