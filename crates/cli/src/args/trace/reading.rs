//! How the files of a trace are to be read: the same for every verb that reads one.

use clap::Args;
use trace::import::{AddressUnit, Columns, Format, Ops, Options, ReadFlag, SpaceRule, TimeUnit};

/// How the files of a trace are read. What their format leaves open is settled by what is in them, or asked for.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Reading the trace")]
pub struct ReadingArgs {
    /// The format, instead of the one that is found: drivescope, blktrace, blkparse, ftrace, biosnoop, iosnoop, fio,
    /// spc, msr, fiu, systor, alibaba, tencent, k5cloud, vscsi, etw, wpa, disksim, ssdsim, mqsim or csv
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<Format>,
    /// Columns of a table, such as time:us,op,offset:sectors,size:bytes,-,space, or by the names in
    /// its head, such as time:us=ts,op=rw,offset:bytes=off,size:bytes=len
    #[arg(long, value_name = "MAP")]
    pub columns: Option<Columns>,
    /// Unit of times: ns, 100ns, us, ms or s
    #[arg(long, value_name = "UNIT")]
    pub time_unit: Option<TimeUnit>,
    /// Value of a read, 0 or 1
    #[arg(long, value_name = "0|1")]
    pub read_flag: Option<ReadFlag>,
    /// Names of the operations in a table, such as 2a=write,28=read,35=flush; - leaves one out
    #[arg(long, value_name = "WORD=OPERATION,…")]
    pub op: Option<Ops>,
    /// Unit of addresses and lengths: bytes, or sectors of 512 bytes
    #[arg(long, value_name = "UNIT")]
    pub address_unit: Option<AddressUnit>,
    /// Address spaces: shared by files that name them alike, per-file, or one for all
    #[arg(long, value_name = "RULE")]
    pub spaces: Option<SpaceRule>,
    /// Sort I/Os by their arrival, however far out of order they are
    #[arg(long)]
    pub sort: bool,
    /// Leave out what cannot be read, and count it
    #[arg(long)]
    pub lenient: bool,
}

impl ReadingArgs {
    /// As the readers have it.
    pub fn options(&self) -> Options {
        Options {
            lenient: self.lenient,
            format: self.format,
            time_unit: self.time_unit,
            read_flag: self.read_flag,
            address_unit: self.address_unit,
            spaces: self.spaces,
            columns: self.columns.clone(),
            ops: self.op.clone(),
            sort: self.sort,
        }
    }
}
