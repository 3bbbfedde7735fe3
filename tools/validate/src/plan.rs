//! Plans of random reads, as drivescope's `run` takes them.

use std::fmt::Write as _;

use block::Bytes;

/// When a phase ends, as a plan says it: `after = "1s"`, or `ios = 4000`.
pub type Stop = String;

/// A plan of one step of one run: random reads of `block` by one submitter that keeps `depth`
/// outstanding, unmeasured until `warm_up` (if there is one) and then measured until `measure`.
pub fn random_reads(block: Bytes, depth: u16, warm_up: Option<&Stop>, measure: &Stop) -> String {
    let mut text = "schema = \"drivescope.plan/1\"\nseed = 1\n\n\
         [content]\ncompressible_percent = 0\ndedup_percent = 0\n\n\
         [schedule]\nruns = 1\norder = \"interleaved\"\ndiscard_first = 0\npause = \"0ns\"\n\n\
         [[step]]\nname = \"random reads\"\nsubmitters = 1\n"
        .to_owned();
    let phases = warm_up.map(|stop| ("warm-up", stop)).into_iter().chain([("measure", measure)]);
    for (name, stop) in phases {
        let _ = write!(
            text,
            "\n[[step.phase]]\nname = \"{name}\"\nmeasured = {}\nblock = \"{}B\"\n\
             address = {{ pattern = \"random\" }}\nstop = {{ {stop} }}\n\
             arrival = {{ kind = \"closed_loop\", depth = {depth} }}\n\
             ops = [{{ op = \"read\", percent = 100 }}]\n",
            name == "measure",
            block.0
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    // A warm-up that counts would put the first I/Os of a cold program into the result.
    #[test]
    fn only_the_last_phase_is_measured() {
        let (warm, measure) = ("after = \"300ms\"".to_owned(), "ios = 5".to_owned());
        let text = random_reads(Bytes(512), 32, Some(&warm), &measure);
        let (before, after) = text.split_once("measured = true").unwrap();
        assert!(before.contains("measured = false") && before.contains("300ms"));
        assert!(after.contains("ios = 5") && after.contains("512B"));
        assert_eq!(random_reads(Bytes(512), 1, None, &measure).matches("phase]]").count(), 1);
    }
}
