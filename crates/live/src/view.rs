//! The live view of a long run: a full screen on stderr, given back when the run is over.
//!
//! Events are taken note of where they come in, under a lock that is held for moments. A thread of its own draws five
//! times a second at most, and takes keys; no thread that measures draws or waits for the terminal.
//!
//! Drawn by our own charts and a few escape sequences. ratatui with crossterm would add some twenty crates, and a second
//! kind of chart beside the one that `show` and `--plot` have.

use std::io::{self, IsTerminal as _, PipeReader, PipeWriter};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anstream::ColorChoice;
use anyhow::{Result, bail};
use block::{Event, RunSink};
use linux::host::Stopwatch;
use linux::terminal::{self, Size};

use runner::messages;

use crate::model::Model;
use crate::page;

/// The smallest terminal that has a live view unasked.
const LEAST: Size = Size { columns: 80, rows: 24 };
/// A shorter run has no live view: it would only flicker.
const PATIENCE: Duration = Duration::from_millis(400);
/// Time from one frame to the next, at least.
const FRAME: Duration = Duration::from_millis(200);

/// Key that changes between a live view and a line of progress.
pub(crate) const LIVE_OR_LINE: u8 = b'l';

/// When a run has a live view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Always: the user asked for one.
    Asked,
    /// If the terminal is good for it.
    Possible,
    /// When the user types `l`.
    OnKey,
    /// Never.
    Never,
}

/// How a run is displayed.
#[derive(Clone, Copy, Debug)]
pub struct Display<'a> {
    /// When it has a live view.
    pub live: When,
    /// True when no progress is displayed at all.
    pub is_quiet: bool,
    /// Verb as the user typed it: `pts iops`.
    pub verb: &'a str,
    /// Name of the target.
    pub target: &'a str,
}

impl Display<'_> {
    /// True when the run has a live view.
    ///
    /// # Errors
    /// When the user asked for one, and the terminal is not good for it.
    pub fn is_live(&self) -> Result<bool> {
        if let Some((_, live)) = &*within() {
            return Ok(*live && !self.is_quiet && hindrance().is_none());
        }
        self.live.check()?;
        Ok(match self.live {
            When::Asked => true,
            When::Possible => !self.is_quiet && hindrance().is_none(),
            When::OnKey | When::Never => false,
        })
    }

    /// True when a key may bring the live view.
    pub(crate) fn may_become_live(&self) -> bool {
        self.live != When::Never && !self.is_quiet
    }

    /// The run before its first event.
    pub(crate) fn model(&self) -> Model {
        let mut model = Model::of(self.verb, self.target);
        model.within = within().as_ref().map(|(what, _)| what.clone());
        model
    }
}

impl When {
    /// Checks that the terminal is good for a live view that the user asked for, before anything is done.
    ///
    /// # Errors
    /// When it is not.
    pub fn check(self) -> Result<()> {
        match hindrance().filter(|_| self == When::Asked) {
            Some(why) => bail!("--live: {why}; leave it out for a line of progress"),
            None => Ok(()),
        }
    }
}

/// Why a live view cannot be shown, if it cannot.
pub(crate) fn hindrance() -> Option<String> {
    if !io::stderr().is_terminal() {
        return Some("stderr is not a terminal".to_owned());
    }
    let kind = std::env::var("TERM").unwrap_or_default();
    if kind.is_empty() || kind == "dumb" {
        return Some(format!("the terminal (TERM={kind}) takes no cursor movements"));
    }
    let least = format!("{} × {} are the least", LEAST.columns, LEAST.rows);
    match terminal::size() {
        None => Some(format!("the terminal does not report its size, and {least}")),
        Some(Size { columns, rows }) if columns < LEAST.columns || rows < LEAST.rows => {
            Some(format!("the terminal has {columns} × {rows} cells, and {least}"))
        }
        Some(_) if !terminal::is_ours() => Some("this process is in the background".to_owned()),
        Some(_) => None,
    }
}

/// The run that later runs are parts of, and whether it has a live view.
static WITHIN: Mutex<Option<(String, bool)>> = Mutex::new(None);

fn within() -> MutexGuard<'static, Option<(String, bool)>> {
    WITHIN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on runs are parts of `what`, and have a live view when that has one.
pub fn go_within(what: String, is_live: bool) {
    *within() = Some((what, is_live));
}

/// A live view.
pub struct Live {
    shared: Arc<Shared>,
    /// The thread that draws, and the end whose closing wakes it; from the first event on.
    drawing: Option<(JoinHandle<()>, PipeWriter)>,
}

struct Shared {
    model: Mutex<Model>,
    began: Stopwatch,
    /// Time until the screen is taken.
    patience: Duration,
    is_over: AtomicBool,
    /// The user asked for a line of progress instead.
    is_line_wanted: AtomicBool,
}

impl Live {
    /// A view of `model` from the first event on.
    pub(crate) fn new(model: Model) -> Live {
        Live::of(model, Stopwatch::start(), PATIENCE)
    }

    /// A view from now on of a run that began earlier.
    pub(crate) fn of_running(model: Model, began: Stopwatch) -> Live {
        let mut live = Live::of(model, began, Duration::ZERO);
        live.begin();
        live
    }

    fn of(model: Model, began: Stopwatch, patience: Duration) -> Live {
        let (is_over, is_line_wanted) = (AtomicBool::new(false), AtomicBool::new(false));
        let model = Mutex::new(model);
        let shared = Shared { model, began, patience, is_over, is_line_wanted };
        Live { shared: Arc::new(shared), drawing: None }
    }

    /// The run and its begin, when the user asked for a line of progress: the screen is given back then.
    pub(crate) fn left(&self) -> Option<(Model, Stopwatch)> {
        let shared = &self.shared;
        shared.is_line_wanted.load(Ordering::Relaxed).then(|| {
            let mut model = shared.model().clone();
            model.last_message = None;
            (model, shared.began)
        })
    }

    /// Changes the model.
    pub fn update(&self, change: impl FnOnce(&mut Model)) {
        change(&mut self.shared.model());
    }

    /// Draws from now on. Without a thread or a pipe there is no view, which no measurement ends for.
    fn begin(&mut self) {
        let Ok((wake, waker)) = io::pipe() else { return };
        restore_on_panic();
        let shared = Arc::clone(&self.shared);
        let draw = move || shared.draw(&wake);
        let thread = thread::Builder::new().name("live view".to_owned()).spawn(draw);
        self.drawing = thread.ok().map(|thread| (thread, waker));
    }
}

impl RunSink for Live {
    fn event(&mut self, event: &Event) {
        if self.drawing.is_none() && !self.shared.is_over.load(Ordering::Relaxed) {
            self.begin();
        }
        let now = self.shared.began.elapsed();
        self.shared.model().event(event, now);
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        if let Some((thread, waker)) = self.drawing.take() {
            drop(waker);
            let _ = thread.join();
        }
    }
}

/// A panic is reported on the normal screen.
pub(crate) fn restore_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            terminal::close();
            messages::release();
            before(panic);
        }));
    });
}

impl Shared {
    fn model(&self) -> MutexGuard<'_, Model> {
        // Values that are wrong for a moment are better than no view.
        self.model.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Draws until it is over.
    fn draw(&self, wake: &PipeReader) {
        let mut frame = Frame::default();
        terminal::keys(wake, self.patience);
        while !self.is_over() {
            let began = Stopwatch::start();
            if terminal::was_continued() {
                frame = Frame::default();
            }
            // In the background nothing is drawn, until this process is in front again.
            if let Ok(is_new) = terminal::take() {
                messages::hold();
                if is_new {
                    frame = Frame::default();
                }
                self.show(&mut frame);
            }
            while !self.is_over() && began.elapsed() < FRAME {
                let keys = terminal::keys(wake, FRAME.saturating_sub(began.elapsed()));
                keys.into_iter().for_each(|key| self.key(key, &mut frame));
            }
        }
        terminal::give_back();
        messages::release();
    }

    fn key(&self, key: u8, frame: &mut Frame) {
        match key {
            // A second one would end it at once, which is what Ctrl-C is for.
            b'q' | b'Q' if !self.model().is_ending => {
                self.model().is_ending = true;
                self.show(frame);
                terminal::interrupt();
            }
            LIVE_OR_LINE => {
                self.is_line_wanted.store(true, Ordering::Relaxed);
                self.is_over.store(true, Ordering::Relaxed);
            }
            terminal::SUSPEND => {
                terminal::give_back();
                messages::release();
                terminal::suspend();
            }
            terminal::QUIT => {
                self.model().is_ending = true;
                self.show(frame);
                terminal::quit();
            }
            _ => {}
        }
    }

    fn show(&self, frame: &mut Frame) {
        let Some(size) = terminal::size() else { return };
        let now = self.began.elapsed();
        let screen = {
            let mut model = self.model();
            model.last_message = messages::last_held();
            page::screen(&model, now)
        };
        let style = report::Style { width: size.columns, ..report::Style::default() };
        let lines = report::render_screen(&screen, style, size.rows);
        let shown = match anstream::AutoStream::choice(&io::stderr()) {
            ColorChoice::Never => report::Styled::plain,
            _ => |line: &report::Styled| line.as_str().to_owned(),
        };
        let lines = lines.iter().map(shown).collect();
        // A terminal that is gone ends nothing: SIGHUP does, if it is to.
        let _ = terminal::show(frame.change(size, lines).as_bytes());
    }
}

/// Content of the screen.
#[derive(Default)]
struct Frame {
    size: Option<Size>,
    lines: Vec<String>,
}

impl Frame {
    /// Escape sequences that make the screen show `lines`: only those that differ are written, since a link may be slow.
    fn change(&mut self, size: Size, lines: Vec<String>) -> String {
        let mut text = String::new();
        if self.size != Some(size) {
            text.push_str("\x1b[0m\x1b[2J");
            self.lines.clear();
            self.size = Some(size);
        }
        for row in 0..lines.len().max(self.lines.len()) {
            let (line, before) = (lines.get(row), self.lines.get(row));
            if line != before {
                // Emptied first: a terminal whose last column is written to would erase that.
                let line = line.map_or("", String::as_str);
                text.push_str(&format!("\x1b[{};1H\x1b[2K{line}", row + 1));
            }
        }
        self.lines = lines;
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    // Breaks when each frame is sent whole, which a slow link shows as flicker, or when what was there stays.
    #[test]
    fn only_what_changed_is_written() {
        let (size, other) = (LEAST, Size { columns: 100, rows: 30 });
        let mut frame = Frame::default();
        let first = frame.change(size, lines(&["a", "b", "c"]));
        assert_eq!(first, "\x1b[0m\x1b[2J\x1b[1;1H\x1b[2Ka\x1b[2;1H\x1b[2Kb\x1b[3;1H\x1b[2Kc");
        assert_eq!(frame.change(size, lines(&["a", "x", "c"])), "\x1b[2;1H\x1b[2Kx");
        assert_eq!(frame.change(size, lines(&["a"])), "\x1b[2;1H\x1b[2K\x1b[3;1H\x1b[2K");
        assert_eq!(frame.change(size, lines(&["a"])), "");
        assert_eq!(frame.change(other, lines(&["a"])), "\x1b[0m\x1b[2J\x1b[1;1H\x1b[2Ka");
    }
}
