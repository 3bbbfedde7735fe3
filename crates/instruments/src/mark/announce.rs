//! Foresees what a benchmark takes, before anything is made, opened for writing or issued.

use std::fs;

use anyhow::Result;
use bench::consent;
use block::{Bounds, Bytes, DriveIdentity, DriveInfo, Nanos, Stack};
use drives::{Look, OpenDrive, OpenRequest, TargetSpec, unopened};
use mark::Options;
use mark::outlook::Outlook;
use mark::rehearsal::{Rehearsal, rehearse};
use record::Announced;
use report::number::{bytes, counted};
use workload::plan::{Plan, Region};

use super::job::Job;
use crate::announce::Foreseen;
use crate::{announce, doubts};

/// A target before it is measured.
struct Known {
    info: DriveInfo,
    stack: Stack,
    identity: DriveIdentity,
    plan: Plan,
    /// Paces of the steps, where the model showed them.
    rehearsal: Rehearsal,
    /// Size of the test file that is made.
    test_file: Option<Bytes>,
}

/// Foresees `job`, each of whose steps is a `noun` such as `test`. Of a real drive nothing is read but what it reports of itself.
///
/// # Errors
/// Those of the job itself, as far as they show before it begins.
pub fn foresee(job: &Job<'_>, noun: &str) -> Result<Foreseen> {
    let known = match &job.target.target {
        TargetSpec::Virtual(_) | TargetSpec::Null => emulated(job)?,
        TargetSpec::Path(_) => real(job)?,
    };
    let Known { info, stack, identity, plan, rehearsal, test_file } = known;
    let outlook = Outlook::of(&plan, &rehearsal, info.link_bytes_per_s);
    let target = &job.target.target;
    let (drive, drive_bytes) = announce::drive(target, &info, &identity);
    let content = plan.alters().then_some(plan.content);
    let mut warnings = doubts::known(&stack, job.target.buffered, content);
    if plan.schedule.until.is_none() && plan.schedule.runs < Options::RUNS {
        warnings.push(format!("fewer than {} runs: no 95% interval of the median", Options::RUNS));
    }
    let besides =
        [outlook.flushes.then_some("flushes"), test_file.map(|_| "writing the test file")];
    let announced = Announced {
        target: target.to_string(),
        drive,
        work: work(&plan, noun, test_file),
        time_ns: outlook.time_ns,
        time_besides: besides.into_iter().flatten().map(str::to_owned).collect(),
        is_virtual: target.is_virtual(),
        read_bytes: outlook.read,
        written_bytes: outlook.written + Bounds::of(test_file.map_or(0, |size| size.0)),
        drive_bytes,
        warnings,
    };
    let is_pointless = stack.is_memory() && !job.target.anyway;
    Ok(Foreseen { announced, is_pointless })
}

/// The plan in a line.
fn work(plan: &Plan, noun: &str, test_file: Option<Bytes>) -> String {
    let schedule = &plan.schedule;
    let runs = counted(schedule.runs as usize, "run");
    let mut work = format!("{}, {runs} each", counted(plan.steps.len(), noun));
    if schedule.discard_first > 0 {
        work += &format!(" and {} that do not count", schedule.discard_first);
    }
    if let Some(until) = schedule.until {
        work += &format!(", more until within {}%", until.half_width_percent);
    } else if schedule.decide_within > Nanos::ZERO {
        work += ", more if undecided";
    }
    work + &test_file
        .map_or(String::new(), |size| format!(", in a test file ({})", bytes(size.0 as f64)))
}

/// A virtual drive, on whose model the plan is rehearsed; or `null:`.
fn emulated(job: &Job<'_>) -> Result<Known> {
    let args = job.target;
    let request = OpenRequest {
        seed: job.drive_seed,
        ..OpenRequest::read(&args.target, args.kernel_engine())
    };
    let OpenDrive { target, mut environment, identity, .. } = drives::open(request)?;
    let info = target.info().clone();
    let mut plan = job.plan_for(true, Some(info.capacity_bytes))?;
    job.widen(&mut plan, &info);
    job.budget(&mut plan, Bytes::ZERO)?;
    let mut target = target.engine()?;
    let rehearsal = match args.target.is_virtual() {
        true => rehearse(&plan, target.io_path(), &mut *environment)?,
        false => Rehearsal::default(),
    };
    let stack = environment.stack().clone();
    Ok(Known { info, stack, identity, plan, rehearsal, test_file: None })
}

/// A directory, a file or a device.
fn real(job: &Job<'_>) -> Result<Known> {
    let args = job.target;
    let Look { mut info, stack, identity, is_directory, .. } = drives::look(&args.target)?;
    if is_directory {
        let size = args.size.unwrap_or(job.default_size);
        let link = info.link_bytes_per_s;
        let mut plan = (job.plan)(true)?;
        plan.region.get_or_insert(Region { offset: Bytes::ZERO, length: size });
        job.budget(&mut plan, size)?;
        info = DriveInfo { capacity_bytes: size, ..unopened(args.target.as_str()) };
        plan.fit(&info)?;
        info.link_bytes_per_s = link;
        return Ok(Known {
            info,
            stack,
            identity,
            plan,
            rehearsal: Rehearsal::default(),
            test_file: Some(size),
        });
    }
    let path = args.target.as_path();
    let is_file = fs::metadata(path)?.is_file();
    let capacity = (!is_file).then_some(info.capacity_bytes);
    let mut plan = job.plan_for(args.consent.write, capacity)?;
    job.check_writes(&plan, is_file)?;
    job.budget(&mut plan, Bytes::ZERO)?;
    if !plan.alters() {
        job.widen(&mut plan, &info);
    }
    plan.fit(&info)?;
    Ok(Known { info, stack, identity, plan, rehearsal: Rehearsal::default(), test_file: None })
}

/// Asks the safety gate, without opening anything for writing, whether `job` may write as it plans.
///
/// # Errors
/// The gate's refusal.
pub fn check_consent(job: &Job<'_>) -> Result<()> {
    let args = job.target;
    let path = args.target.as_path();
    if !args.target.is_real() || !args.consent.write || path.is_dir() {
        return Ok(());
    }
    let said =
        consent::Consent { consent: args.consent.consent.as_ref(), allow: &args.consent.allow };
    let plan = real(job)?.plan;
    match plan.alters() {
        true => consent::foresee(said, path, consent::bytes_to_write(&plan)),
        false => Ok(()),
    }
}
