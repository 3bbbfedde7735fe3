//! Description of a load, in one sentence.

use block::Bytes;

use super::explained::{Order, Way};
use super::load::{Durable, Load};

/// One sentence without a full stop.
pub(super) fn sentence(load: &Load) -> String {
    let mut words = vec![actors(load), verb(load), object(load), order(load), size(load)];
    words.push(depth(load));
    words.push(
        match load.way {
            Way::Direct => "past the page cache",
            Way::PageCache => "through the page cache",
            Way::Memory => "within memory",
        }
        .to_owned(),
    );
    words.push(match load.durable {
        _ if !load.writes() => String::new(),
        Durable::No => String::new(),
        Durable::Each => "each write durable when it completes".to_owned(),
        Durable::Every(1) => "a flush after each write".to_owned(),
        Durable::Every(writes) => format!("a flush after every {writes} writes"),
        Durable::AtEnd => "a flush at the end".to_owned(),
    });
    words.push(end(load));
    words.retain(|part| !part.is_empty());
    let (head, tail) = words.split_at(4.min(words.len()));
    let head = head.join(" ");
    if tail.is_empty() { head } else { format!("{head}, {}", tail.join(", ")) }
}

fn actors(load: &Load) -> String {
    match load.copies {
        1 => "one thread".to_owned(),
        copies if load.sharers() > 1 && load.increment == 0 => format!("{copies} threads each"),
        copies => format!("{copies} threads"),
    }
}

fn verb(load: &Load) -> String {
    let plural = load.copies > 1 && (load.sharers() == 1 || load.increment > 0);
    let word = match (load.read_percent, load.reads_back, plural) {
        (0, true, true) => "write and read back",
        (0, true, false) => "writes and reads back",
        (0, false, true) => "write",
        (0, false, false) => "writes",
        (100, _, true) => "read",
        (100, _, false) => "reads",
        (percent, _, true) => return format!("read ({percent}%) and write"),
        (percent, _, false) => return format!("reads ({percent}%) and writes"),
    };
    word.to_owned()
}

fn object(load: &Load) -> String {
    let many = load.sharers() > 1;
    let files = match (load.files, load.own_files && load.copies > 1) {
        (1, false) => String::new(),
        (1, true) => " of a file each".to_owned(),
        (files, false) => format!(" of each of {files} files"),
        (files, true) => format!(" of each of {files} files each"),
    };
    match load.span {
        Some(span) if many && load.increment == 0 => {
            format!("the same {}{files}", Bytes(span).human())
        }
        Some(span) if many && load.increment < span => {
            format!("{} each, {} apart,{files}", Bytes(span).human(), Bytes(load.increment).human())
        }
        Some(span) if many => format!("{} each{files}", Bytes(span).human()),
        Some(span) => format!("{}{files}", Bytes(span).human()),
        None if many && load.increment == 0 => "the same, all of the target".to_owned(),
        None if load.offset > 0 => format!("the target from {} on", Bytes(load.offset).human()),
        None => "all of the target".to_owned(),
    }
}

fn order(load: &Load) -> String {
    match load.order {
        Order::Sequential => "in order".to_owned(),
        Order::Strided { step_bytes } => format!("in steps of {}", Bytes(step_bytes).human()),
        Order::SameBlock => "at one place, over and over".to_owned(),
        Order::PrivateCursors { cursors: 1 } => "in order".to_owned(),
        Order::PrivateCursors { cursors } => {
            format!("in order, {cursors} times over by {cursors} cursors a block apart")
        }
        Order::RandomOnce => "in random order, each block once a pass".to_owned(),
        Order::RandomFree { align_bytes } if load.block() != Some(align_bytes) => {
            format!("at random multiples of {}", Bytes(align_bytes).human())
        }
        Order::RandomFree { .. } => "at random, some blocks again and some never".to_owned(),
        Order::Other => "in an order of its own".to_owned(),
    }
}

fn size(load: &Load) -> String {
    match load.block() {
        Some(block) => format!("{} at a time", Bytes(block).human()),
        None => format!(
            "{} to {} at a time",
            Bytes(load.block_min()).human(),
            Bytes(load.block_max()).human()
        ),
    }
}

fn depth(load: &Load) -> String {
    let each = if load.copies > 1 { " each" } else { "" };
    format!("{} outstanding{each}", load.depth.1)
}

fn end(load: &Load) -> String {
    let each = if load.copies > 1 { " each" } else { "" };
    let warm = if load.warm_up.0 > 0 {
        format!(" after {} of warm-up", load.warm_up.human())
    } else {
        String::new()
    };
    match (load.bytes, load.time) {
        (Some(bytes), Some(time)) => {
            format!("until {}{each} or {time}{warm}, whichever comes first", Bytes(bytes).human())
        }
        (Some(bytes), None) => format!("until {}{each}{warm}", Bytes(bytes).human()),
        (None, Some(time)) => format!("for {time}{warm}"),
        (None, None) => "until its end".to_owned(),
    }
}
