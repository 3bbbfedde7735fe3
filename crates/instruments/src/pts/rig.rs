//! An open drive as a rig that tests work on.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use bench::opening::{Opened, Visitor};
use bench::other_engine::EngineWay;
use block::{EngineKind, Environment};
use engine::{IoPath, Way};
use linux::purge::Status;
use linux::purge::read_back::Verdict;
use pts::rig::{Purged, Rig, TargetRig};
use runner::messages;

use super::tests::counted;
use crate::purge::{self, Settings};

/// The kernel's other ways to have many requests outstanding. One that this kernel refuses is left out: the report names
/// those that were compared.
fn ways(opened: &Opened<'_>) -> Vec<Box<dyn Way>> {
    let Some(again) = opened.again else { return Vec::new() };
    let others = [EngineKind::IoUring, EngineKind::Libaio].into_iter();
    others
        .filter(|engine| engine.to_string() != opened.engine)
        .filter_map(|engine| Some(EngineWay::new(engine, again(engine).ok()?)))
        .map(|way| Box::new(way) as Box<dyn Way>)
        .collect()
}

/// Work with a rig.
pub type Work<'a, R> = &'a mut dyn FnMut(&mut dyn Rig, &Opened<'_>) -> Result<R>;

/// Makes a rig of what was opened.
pub struct Tester<'a, 'b, R> {
    /// Set when the user asks for an end.
    pub cancel: &'a Arc<AtomicBool>,
    /// True when the kernel's engines are compared.
    pub side_by_side: bool,
    /// The purge before each test.
    pub purge: &'a Settings,
    /// True when the drive is purged, which is checked to be possible first.
    pub is_purged: bool,
    /// The work.
    pub work: Work<'b, R>,
}

impl<R> Visitor for Tester<'_, '_, R> {
    type Out = R;

    fn visit(
        &mut self,
        target: &mut dyn IoPath,
        environment: &mut dyn Environment,
        opened: &Opened<'_>,
    ) -> Result<R> {
        let (settings, cancel) = (self.purge, self.cancel);
        if self.is_purged {
            purge::foresee(settings).map_err(|error| {
                let cause = format!(
                    "{}; or add --no-purge, and the drive is tested as it is",
                    messages::described(&error)
                );
                error.context(cause)
            })?;
        }
        let mut purger = |target: &mut dyn IoPath| -> Result<Purged, String> {
            let purged = purge::purge_open(settings, (target, opened.permit), cancel);
            let (method, outcome) = purged.map_err(|error| messages::described(&error))?;
            let verdict = outcome.verdict();
            Ok(Purged {
                method: method.to_string(),
                verdict: match verdict {
                    Verdict::Proven => stats::Verdict::Proven,
                    Verdict::Refuted => stats::Verdict::Refuted,
                    Verdict::Unprovable => stats::Verdict::Unprovable,
                }
                .into(),
                seconds: outcome.seconds,
                is_good: outcome.ended.status == Status::Done && verdict != Verdict::Refuted,
                words: format!(
                    "{}; {}",
                    outcome.ended.words,
                    documents::purge::verdict_words(verdict)
                ),
            })
        };
        let device = settings.device.as_path();
        let counted = || counted(device);
        let mut rig = TargetRig {
            target,
            environment,
            cancel: self.cancel,
            engine: opened.engine.clone(),
            ways: if self.side_by_side { ways(opened) } else { Vec::new() },
            chosen: None,
            purger: &mut purger,
            counted: &counted,
        };
        (self.work)(&mut rig, opened)
    }
}
