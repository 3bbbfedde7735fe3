//! fio's options: which decide what is issued, which do not, and which have two names.

/// Effect of an option on a prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It is taken into account.
    Counted,
    /// It changes nothing that is predicted.
    Harmless,
    /// It is for the program and no job.
    OfTheProgram,
    /// It may change what is issued, and how is not known here.
    NotPredicted,
}

const COUNTED: &[&str] = &[
    "allrandrepeat",
    "ba",
    "bs",
    "bsrange",
    "bssplit",
    "buffer_compress_percentage",
    "buffer_pattern",
    "buffered",
    "create_only",
    "dedupe_percentage",
    "direct",
    "directory",
    "do_verify",
    "end_fsync",
    "fdatasync",
    "file_service_type",
    "filename",
    "filesize",
    "fsync",
    "fsync_on_close",
    "invalidate",
    "io_size",
    "iodepth",
    "ioengine",
    "kb_base",
    "loops",
    "norandommap",
    "nrfiles",
    "number_ios",
    "numjobs",
    "offset",
    "offset_increment",
    "overwrite",
    "percentage_random",
    "ramp_time",
    "random_distribution",
    "random_generator",
    "randrepeat",
    "randseed",
    "rate",
    "rate_iops",
    "refill_buffers",
    "runtime",
    "rw",
    "rwmixread",
    "rwmixwrite",
    "scramble_buffers",
    "size",
    "softrandommap",
    "steadystate",
    "stonewall",
    "sync",
    "thinktime",
    "time_based",
    "verify",
    "wait_for",
    "zero_buffers",
];

const HARMLESS: &[&str] = &[
    "allow_file_create",
    "allow_mounted_write",
    "bwavgtime",
    "clat_percentiles",
    "clocksource",
    "cpumask",
    "continue_on_error",
    "cpus_allowed",
    "cpus_allowed_policy",
    "create_fsync",
    "create_on_open",
    "create_serialize",
    "description",
    "disable_bw",
    "disable_bw_measurement",
    "disable_clat",
    "disable_lat",
    "disable_slat",
    "disk_util",
    "error_dump",
    "exitall",
    "exitall_on_error",
    "fadvise_hint",
    "fallocate",
    "fixedbufs",
    "group_reporting",
    "gtod_cpu",
    "gtod_reduce",
    "hipri",
    "hugepage-size",
    "iomem",
    "iomem_align",
    "iopsavgtime",
    "ioscheduler",
    "lat_percentiles",
    "lockmem",
    "log_avg_msec",
    "log_compression",
    "log_entries",
    "log_hist_coarseness",
    "log_hist_msec",
    "log_max_value",
    "log_offset",
    "log_store_compressed",
    "log_unix_epoch",
    "mem",
    "mem_align",
    "name",
    "new_group",
    "nice",
    "nonvectored",
    "norandommap_warn",
    "numa_cpu_nodes",
    "numa_mem_policy",
    "openfiles",
    "opendir",
    "per_job_logs",
    "percentile_list",
    "prio",
    "prioclass",
    "registerfiles",
    "significant_figures",
    "slat_percentiles",
    "sqthread_poll",
    "sqthread_poll_cpu",
    "stats",
    "steadystate_duration",
    "steadystate_ramp_time",
    "thread",
    "unified_rw_reporting",
    "unlink",
    "unlink_each_loop",
    "userspace_reap",
    "verify_dump",
    "verify_fatal",
    "verify_state_save",
    "write_bw_log",
    "write_hist_log",
    "write_iolog",
    "write_iops_log",
    "write_lat_log",
];

const OF_THE_PROGRAM: &[&str] = &[
    "alloc-size",
    "append-terse",
    "aux-path",
    "bandwidth-log",
    "client",
    "daemonize",
    "debug",
    "eta",
    "eta-interval",
    "eta-newline",
    "idle-prof",
    "inflate-log",
    "max-jobs",
    "minimal",
    "output",
    "output-format",
    "parse-only",
    "readonly",
    "server",
    "showcmd",
    "status-interval",
    "terse-version",
    "trigger",
    "trigger-file",
    "warnings-fatal",
];

/// Options that fio has (`--cmdhelp`, `--enghelp` of 3.33, and HOWTO of later ones), and whose effect is not predicted.
const OTHERS: &[&str] = &[
    "apptag",
    "apptag_mask",
    "arguments",
    "bindname",
    "block_error_percentiles",
    "brick",
    "bs_unaligned",
    "buffer_compress_chunk",
    "busy_poll",
    "cgroup",
    "cgroup_nodelete",
    "cgroup_weight",
    "chunk_size",
    "clientname",
    "clustername",
    "cmd_type",
    "cmdprio",
    "cmdprio_bssplit",
    "cmdprio_class",
    "cmdprio_percentage",
    "conf",
    "cpuload",
    "cpumode",
    "dataplacement",
    "deac",
    "dedupe_global",
    "dedupe_mode",
    "dedupe_working_set_percentage",
    "donorname",
    "dp_scheme",
    "exec_postrun",
    "exec_prerun",
    "exit_on_io_done",
    "exit_what",
    "experimental_verify",
    "fdp",
    "fdp_pli",
    "fdp_pli_select",
    "file_append",
    "filename_format",
    "fill_device",
    "flow",
    "flow_id",
    "flow_sleep",
    "force_async",
    "gid",
    "grace_time",
    "hipri_percentage",
    "hostname",
    "ignore_error",
    "ignore_zone_limits",
    "inplace",
    "interface",
    "io_submit_mode",
    "iodepth_batch_complete_max",
    "iodepth_low",
    "job_max_open_zones",
    "latency_percentile",
    "latency_run",
    "latency_target",
    "latency_window",
    "listen",
    "lockfile",
    "log_alternate_epoch",
    "log_alternate_epoch_clock_id",
    "log_compression_cpus",
    "log_issue_time",
    "log_prio",
    "log_window_value",
    "max_latency",
    "max_open_zones",
    "md_per_io_size",
    "merge_blktrace_file",
    "merge_blktrace_iters",
    "merge_blktrace_scalars",
    "mss",
    "namenode",
    "nfs_url",
    "nodelay",
    "nowait",
    "num_range",
    "offset_align",
    "pi_act",
    "pi_chk",
    "pingpong",
    "plid_select",
    "plids",
    "pool",
    "port",
    "pre_read",
    "profile",
    "program",
    "protocol",
    "rate_cycle",
    "rate_ignore_thinktime",
    "rate_iops_min",
    "rate_min",
    "rate_process",
    "rbdname",
    "read_beyond_wp",
    "read_iolog",
    "read_iolog_chunked",
    "readfua",
    "replay_align",
    "replay_no_stall",
    "replay_redirect",
    "replay_scale",
    "replay_skip",
    "replay_time_scale",
    "rw_sequencer",
    "serialize_overlap",
    "sg_write_mode",
    "single-instance",
    "skip_bad",
    "sprandom",
    "startdelay",
    "stat_type",
    "std_redirect",
    "stream_id",
    "sync_file_range",
    "thinkcycles",
    "thinktime_blocks",
    "thinktime_blocks_type",
    "thinktime_iotime",
    "thinktime_spin",
    "thp",
    "touch_objects",
    "trim_backlog",
    "trim_backlog_batch",
    "trim_percentage",
    "trim_verify_zero",
    "ttl",
    "uid",
    "uncached",
    "unique_filename",
    "unit_base",
    "uri",
    "verb",
    "verify_async",
    "verify_backlog",
    "verify_backlog_batch",
    "verify_header_seed",
    "verify_interval",
    "verify_mode",
    "verify_offset",
    "verify_pattern",
    "verify_state_load",
    "verify_write_sequence",
    "volume",
    "window_size",
    "write_barrier",
    "write_hint",
    "write_mode",
    "writefua",
    "zone_reset_frequency",
    "zone_reset_threshold",
    "zonecapacity",
    "zonemode",
    "zonerange",
    "zonesize",
    "zoneskip",
];

/// Options that need no value; all others have one, after `=` or as the next word.
const ALONE: &[&str] = &[
    "append-terse",
    "bandwidth-log",
    "exitall",
    "exitall_on_error",
    "fixedbufs",
    "group_reporting",
    "gtod_reduce",
    "hipri",
    "minimal",
    "new_group",
    "norandommap",
    "parse-only",
    "readonly",
    "refill_buffers",
    "registerfiles",
    "showcmd",
    "softrandommap",
    "sqthread_poll",
    "stonewall",
    "thread",
    "time_based",
    "userspace_reap",
    "wait_for_previous",
    "warnings-fatal",
    "zero_buffers",
    "direct",
    "buffered",
    "invalidate",
    "end_fsync",
    "randrepeat",
    "overwrite",
    "create_only",
    "unlink",
    "verify_only",
    "atomic",
    "lat_percentiles",
    "clat_percentiles",
    "eta-newline",
    "daemonize",
    "idle-prof",
    "scramble_buffers",
    "do_verify",
    "fsync_on_close",
    "nonvectored",
];

/// Options that have another name in this page.
const ALSO: &[(&str, &str)] = &[
    ("readwrite", "rw"),
    ("blocksize", "bs"),
    ("blocksize_range", "bsrange"),
    ("blockalign", "ba"),
    ("io_limit", "io_size"),
    ("timeout", "runtime"),
    ("ss", "steadystate"),
    ("ss_dur", "steadystate_duration"),
    ("ss_ramp", "steadystate_ramp_time"),
    ("wait_for_previous", "stonewall"),
    ("rand_seed", "randseed"),
    ("file_size", "filesize"),
    ("iodepth_batch_submit", "iodepth_batch"),
    ("iodepth_batch_complete_min", "iodepth_batch_complete"),
];

/// The name by which an option is known here.
pub(super) fn canonical(name: &str) -> &str {
    ALSO.iter().find(|(other, _)| *other == name).map_or(name, |(_, name)| name)
}

/// Returns the effect of option `name` on a prediction.
pub(super) fn kind(name: &str) -> Kind {
    let name = canonical(name);
    if COUNTED.contains(&name) {
        Kind::Counted
    } else if HARMLESS.contains(&name) {
        Kind::Harmless
    } else if OF_THE_PROGRAM.contains(&name) {
        Kind::OfTheProgram
    } else {
        Kind::NotPredicted
    }
}

/// Whether the next word is its value, where there is none after `=`. A name that is not known is taken to have no value:
/// otherwise what follows would be swallowed.
pub(super) fn takes_word(name: &str) -> bool {
    let is_known = kind(name) != Kind::NotPredicted || name == "name" || name == "section";
    is_known && !ALONE.contains(&name)
}

fn all() -> impl Iterator<Item = &'static str> {
    let lists = [COUNTED, HARMLESS, OF_THE_PROGRAM, OTHERS].into_iter().flatten();
    lists.copied().chain(ALSO.iter().flat_map(|(other, name)| [*other, *name]))
}

/// The whole name of an option of a command line, where as much of it as is that of no other is enough (getopt_long(3)).
/// Job files have whole names.
pub(super) fn completed(name: &str) -> &str {
    if name.is_empty() || all().any(|known| known == name) {
        return name;
    }
    let mut begun = all().filter(|known| known.starts_with(name));
    match begun.next() {
        Some(first) if begun.all(|other| other == first) => first,
        _ => name,
    }
}

/// Letters by which a name may be off to be taken for a slip, at most.
const SLIP: usize = 2;

/// The option that is meant, where fio has none of this name and one of nearly this name.
pub(super) fn meant(name: &str) -> Option<&'static str> {
    if all().any(|known| known == name) {
        return None;
    }
    // Of short names nearly every one is near another.
    let off = |known: &&str| strsim::osa_distance(known, name);
    all().filter(|known| off(known) <= SLIP && off(known) * 3 < name.len()).min_by_key(off)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when an option that fio has is called a slip, or a slip passes.
    #[test]
    fn slips_are_told_from_options() {
        for (slip, means) in
            [("iodpth", "iodepth"), ("blocksie", "blocksize"), ("nunjobs", "numjobs")]
        {
            assert_eq!(meant(slip), Some(means), "{slip}");
        }
        for name in ["zonesize", "cmdprio_class", "file_size", "rw", "plids", "rwx"] {
            assert_eq!(meant(name), None, "{name}");
        }
    }

    // Breaks when what fio completes is taken for another option, or for none.
    #[test]
    fn names_are_completed_as_far_as_they_are_one() {
        for (begun, whole) in
            [("numjob", "numjobs"), ("runt", "runtime"), ("iode", "iode"), ("rw", "rw")]
        {
            assert_eq!(completed(begun), whole);
        }
    }
}
