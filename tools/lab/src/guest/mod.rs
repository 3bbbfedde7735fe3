//! The guest's side: a process that answers the host's requests until the power goes.

mod devices;
mod script;
mod traces;

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::protocol::{PORT, Place, Ran, Reply, Request, SIGN_OF_LIFE};

/// Socket on which scripts request actions of the host.
const WISHES: &str = "/run/lab-wishes";
/// How often a port that does not speak is looked at again.
const LOOK: Duration = Duration::from_millis(20);
/// Longest that a drive takes to appear.
const APPEARANCE: Duration = Duration::from_secs(180);

/// How often what a scenario made is taken down, before what is left counts as left behind: layers that lie on
/// each other may take turns.
const CLEANINGS_MAX: usize = 3;

/// A script's wish, and where the answer goes.
pub(crate) type Wish = (String, UnixStream);

/// Both sides of the port, and what the scenario at hand has.
#[derive(Debug)]
struct Agent {
    port: BufReader<File>,
    answers: Arc<Mutex<File>>,
    wishes: Receiver<Wish>,
    variables: BTreeMap<String, String>,
    before: traces::Traces,
}

/// Answers until the power goes.
///
/// # Errors
/// When there is no port, or it breaks.
pub fn serve() -> Result<()> {
    let port = OpenOptions::new().read(true).write(true).open(port()?).context("port")?;
    let answers = Arc::new(Mutex::new(port.try_clone().context("port")?));
    let mut agent = Agent {
        port: BufReader::new(port),
        answers: Arc::clone(&answers),
        wishes: listen()?,
        variables: BTreeMap::new(),
        before: traces::Traces::now(),
    };
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    agent.answer(&Reply::Ready { kernel: kernel.trim().to_owned() })?;
    thread::spawn(move || {
        while answer(&answers, &Reply::Alive).is_ok() {
            thread::sleep(SIGN_OF_LIFE);
        }
    });
    loop {
        let reply = match agent.request()? {
            Request::Begin { modules, places } => agent.begin(&modules, &places),
            Request::Run { script, variables, timeout_ms } => {
                agent.run(&script, variables, timeout_ms)
            }
            Request::End => agent.end(),
            Request::Done { .. } => bail!("the host has done what nobody asked for"),
        };
        agent.answer(&reply.unwrap_or_else(|error| Reply::Failed { why: format!("{error:#}") }))?;
    }
}

/// Asks the host, through the agent, and waits until it is done: what scripts call as `lab-host`.
///
/// # Errors
/// When there is no lab here, or the host refuses, with its message.
pub fn wish(action: &str) -> Result<()> {
    let mut stream = UnixStream::connect(WISHES).context("there is no lab here")?;
    stream.write_all(format!("{action}\n").as_bytes())?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer)?;
    match answer.trim() {
        "" => Ok(()),
        why => bail!("{why}"),
    }
}

/// Writes a whole line, also when several threads write.
fn answer(port: &Mutex<File>, reply: &Reply) -> Result<()> {
    let line = serde_json::to_string(reply)? + "\n";
    let mut port = port.lock().unwrap_or_else(PoisonError::into_inner);
    port.write_all(line.as_bytes()).context("port")
}

fn port() -> Result<PathBuf> {
    let ports = fs::read_dir("/sys/class/virtio-ports").context("no port to the host")?;
    for entry in ports {
        let path = entry?.path();
        let name = fs::read_to_string(path.join("name")).unwrap_or_default();
        if let (PORT, Some(device)) = (name.trim(), path.file_name()) {
            return Ok(PathBuf::from("/dev").join(device));
        }
    }
    bail!("no port to the host is named {PORT}")
}

/// Takes scripts' wishes, each on a thread of its own until it is heard.
fn listen() -> Result<Receiver<Wish>> {
    let _ = fs::remove_file(WISHES);
    let listener = UnixListener::bind(WISHES).context(WISHES)?;
    let (sender, wishes) = channel();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut line = String::new();
            let heard =
                stream.try_clone().and_then(|copy| BufReader::new(copy).read_line(&mut line));
            if heard.is_ok() && sender.send((line.trim().to_owned(), stream)).is_err() {
                return;
            }
        }
    });
    Ok(wishes)
}

impl Agent {
    fn answer(&self, reply: &Reply) -> Result<()> {
        answer(&self.answers, reply)
    }

    fn request(&mut self) -> Result<Request> {
        let mut line = String::new();
        loop {
            // Without a host at the other end a port reads as ended.
            if self.port.read_line(&mut line).context("port")? == 0 {
                thread::sleep(LOOK);
            } else if line.ends_with('\n') {
                return serde_json::from_str(line.trim()).with_context(|| line.clone());
            }
        }
    }

    fn begin(&mut self, modules: &[String], places: &[Place]) -> Result<Reply> {
        fs::create_dir_all("/scenario")?;
        script::quietly("mount -t tmpfs tmpfs /scenario")?;
        for module in modules {
            script::quietly(&format!("modprobe {module}"))
                .with_context(|| format!("module {module}"))?;
        }
        self.variables.clear();
        let begun = Instant::now();
        for place in places {
            self.variables
                .extend(devices::wait(place, APPEARANCE.saturating_sub(begun.elapsed()))?);
        }
        Ok(Reply::Begun { variables: self.variables.clone() })
    }

    fn run(
        &mut self,
        script: &str,
        variables: BTreeMap<String, String>,
        timeout_ms: u64,
    ) -> Result<Reply> {
        let mut all = self.variables.clone();
        all.extend(variables);
        let limit = Duration::from_millis(timeout_ms);
        let mut running = script::Running::start(script, &all)?;
        loop {
            if let Some(ran) = running.ended(limit)? {
                return Ok(Reply::Ran(ran));
            }
            if let Ok((action, mut stream)) = self.wishes.recv_timeout(LOOK / 4) {
                self.answer(&Reply::Wish { action })?;
                match self.request()? {
                    Request::Done { error } => {
                        let words = error.unwrap_or_default().replace('\n', " ");
                        let _ = stream.write_all(format!("{words}\n").as_bytes());
                    }
                    other => bail!("asked for something, and heard {other:?}"),
                }
            }
        }
    }

    fn end(&mut self) -> Result<Reply> {
        let mut leftovers = traces::kill_processes();
        let mut beyond = Vec::new();
        for _ in 0..CLEANINGS_MAX {
            script::quietly(include_str!("clean.sh"))?;
            beyond = traces::Traces::now().beyond(&self.before);
            if beyond.is_empty() {
                break;
            }
        }
        leftovers.extend(beyond);
        self.variables.clear();
        Ok(Reply::Ended { leftovers })
    }
}

/// Builds the result of a script from its exit status and output.
pub(crate) fn ran(exit: i32, timed_out: bool, took: Duration, stdout: &[u8], stderr: &[u8]) -> Ran {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ran {
        exit,
        timed_out,
        stdout: text(stdout),
        stderr: text(stderr),
        took_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
    }
}
