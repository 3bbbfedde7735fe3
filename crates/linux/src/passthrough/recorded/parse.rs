//! Reading a recording.

use std::path::Path;

use super::{Came, Carried, DATA_BYTES_MAX, Exchange, MAGIC, Pieces, Sent, TraceError, VERSION};
use crate::passthrough::ioctl::SENSE_BYTES_MAX;

/// Contents of a recording.
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) device: String,
    pub(super) protocol: String,
    pub(super) namespace: Option<u32>,
    pub(super) exchanges: Vec<Exchange>,
}

/// A command whose answer has not come yet.
struct Open {
    line: usize,
    sent: Sent,
    carried: Carried,
}

#[derive(Default)]
struct Reading {
    version_seen: bool,
    device: Option<String>,
    protocol: Option<String>,
    namespace: Option<u32>,
    open: Option<Open>,
    exchanges: Vec<Exchange>,
}

/// Reads `text`; `path` is what errors call it.
pub(super) fn parse(path: &Path, text: &str) -> Result<Parsed, TraceError> {
    let mut reading = Reading::default();
    let mut last = 0;
    for (index, line) in text.lines().enumerate() {
        last = index + 1;
        let line = line.split('#').next().unwrap_or_default().trim();
        if !line.is_empty() {
            reading.take(last, line).map_err(|why| TraceError::form(path, last, why))?;
        }
    }
    let end = |why: &str| TraceError::form(path, last.max(1), why);
    if !reading.version_seen {
        return Err(end(&format!(
            "is not a recording of commands: it has no line `{MAGIC} {VERSION}`"
        )));
    }
    if let Some(open) = reading.open {
        return Err(TraceError::form(
            path,
            open.line,
            "the command has no answer: the file is cut off",
        ));
    }
    Ok(Parsed {
        device: reading.device.ok_or_else(|| end("has no line `device NAME`"))?,
        protocol: reading.protocol.ok_or_else(|| end("has no line `protocol WORD`"))?,
        namespace: reading.namespace,
        exchanges: reading.exchanges,
    })
}

impl Reading {
    fn take(&mut self, at: usize, line: &str) -> Result<(), String> {
        let (first, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let mut words = rest.split_whitespace();
        if !self.version_seen {
            self.version_seen = true;
            return match (first, words.next()) {
                (MAGIC, Some(VERSION)) => Ok(()),
                (MAGIC, version) => Err(format!(
                    "version {} of the form is not known, {VERSION} is",
                    version.unwrap_or("none")
                )),
                _ => Err(format!("a recording of commands begins with `{MAGIC} {VERSION}`")),
            };
        }
        match first {
            "device" => self.device = Some(word(&mut words)?.to_owned()),
            "protocol" => self.protocol = Some(word(&mut words)?.to_owned()),
            "namespace" => {
                self.namespace = Some(number(&mut words, 16, u32::MAX.into())? as u32);
            }
            ">" => return self.command(at, rest),
            "<" => return self.answer(rest),
            "." => return self.data(rest),
            other => {
                return Err(format!("begins with {other:?}, and a line begins with > or < or ."));
            }
        }
        end(&mut words)
    }

    fn command(&mut self, line: usize, text: &str) -> Result<(), String> {
        if let Some(open) = &self.open {
            return Err(format!("the command of line {} has no answer yet", open.line));
        }
        let mut words = text.split_whitespace();
        let (sent, way) = match word(&mut words)? {
            "nvme" => {
                let opcode = number(&mut words, 16, 0xff)? as u8;
                expect(&mut words, "nsid")?;
                let nsid = number(&mut words, 16, u32::MAX.into())? as u32;
                expect(&mut words, "cdw")?;
                let mut cdw10_to_15 = [0; 6];
                for dword in &mut cdw10_to_15 {
                    *dword = number(&mut words, 16, u32::MAX.into())? as u32;
                }
                (Sent::Nvme { opcode, nsid, cdw10_to_15 }, word(&mut words)?)
            }
            "scsi" => {
                let mut cdb = Vec::new();
                let way = loop {
                    let next = word(&mut words)?;
                    match byte(next) {
                        Ok(byte) if cdb.len() < 32 => cdb.push(byte),
                        Ok(_) => return Err("a SCSI command has at most 32 bytes".to_owned()),
                        Err(_) => break next,
                    }
                };
                if cdb.is_empty() {
                    return Err("a SCSI command has at least one byte".to_owned());
                }
                (Sent::Scsi { cdb }, way)
            }
            other => return Err(format!("{other:?} is not a kind of command; nvme and scsi are")),
        };
        let mut length = || number(&mut words, 10, DATA_BYTES_MAX as u64).map(|n| n as usize);
        let carried = match way {
            "none" => Carried::None,
            "in" => Carried::In(length()?),
            "out" => Carried::Out(length()?, Pieces::default()),
            other => {
                return Err(format!("{other:?} is not a direction of data; write none, in or out"));
            }
        };
        end(&mut words)?;
        self.open = Some(Open { line, sent, carried });
        Ok(())
    }

    fn answer(&mut self, text: &str) -> Result<(), String> {
        let Some(Open { line, sent, carried }) = self.open.take() else {
            return Err("an answer stands here, and no command before it".to_owned());
        };
        let mut words = text.split_whitespace();
        let kind = word(&mut words)?;
        let came = match (kind, &sent) {
            ("nvme", Sent::Nvme { .. }) => {
                // 15 bits: type, code, and what to think of them.
                let status = number(&mut words, 16, 0x7fff)? as u16;
                expect(&mut words, "result")?;
                Came::Nvme { status, result: number(&mut words, 16, u32::MAX.into())? as u32 }
            }
            ("scsi", Sent::Scsi { .. }) => {
                let status = number(&mut words, 16, 0xff)? as u8;
                expect(&mut words, "transferred")?;
                let most = match carried {
                    Carried::None => 0,
                    Carried::In(bytes) | Carried::Out(bytes, _) => bytes,
                };
                let transferred = number(&mut words, 10, most as u64)? as usize;
                expect(&mut words, "sense")?;
                Came::Scsi { status, transferred, sense: sense(&mut words)? }
            }
            ("transport", Sent::Scsi { .. }) => Came::Transport {
                host: number(&mut words, 16, 0xffff)? as u16,
                driver: number(&mut words, 16, 0xffff)? as u16,
            },
            ("errno", _) => Came::Errno(number(&mut words, 10, 4095)? as i32),
            (other, _) => {
                return Err(format!("{other:?} is not an answer to the command of line {line}"));
            }
        };
        end(&mut words)?;
        let data = Pieces::default();
        self.exchanges.push(Exchange { line, sent, carried, came, data });
        Ok(())
    }

    fn data(&mut self, text: &str) -> Result<(), String> {
        let mut words = text.split_whitespace();
        let at = number(&mut words, 16, DATA_BYTES_MAX as u64)? as usize;
        let bytes = words.map(byte).collect::<Result<Vec<u8>, _>>()?;
        let (pieces, room) = match (&mut self.open, self.exchanges.last_mut()) {
            (Some(Open { carried: Carried::Out(length, pieces), .. }), _) => (pieces, *length),
            (Some(_), _) => return Err("data stands here, and the command sends none".to_owned()),
            (None, Some(Exchange { carried, came, data, .. })) => (data, room_for(carried, came)),
            (None, None) => return Err("data stands here, and no command before it".to_owned()),
        };
        if at < pieces.end() {
            return Err(format!("the place {at:x} was filled before; data stands in order"));
        }
        if at + bytes.len() > room {
            return Err(format!(
                "ends at byte {}, and {room} bytes is all that went",
                at + bytes.len()
            ));
        }
        pieces.0.push((at, bytes));
        Ok(())
    }
}

/// Most data that an answer has brought.
fn room_for(carried: &Carried, came: &Came) -> usize {
    match (carried, came) {
        (Carried::In(_), Came::Scsi { transferred, .. }) => *transferred,
        (Carried::In(length), Came::Nvme { status: 0, .. }) => *length,
        _ => 0,
    }
}

fn sense<'a>(words: &mut impl Iterator<Item = &'a str>) -> Result<Vec<u8>, String> {
    let first = word(words)?;
    if first == "none" {
        return Ok(Vec::new());
    }
    let bytes = std::iter::once(first).chain(words).map(byte).collect::<Result<Vec<u8>, _>>()?;
    if bytes.len() > SENSE_BYTES_MAX {
        return Err(format!("sense data has at most {SENSE_BYTES_MAX} bytes"));
    }
    Ok(bytes)
}

fn word<'a>(words: &mut impl Iterator<Item = &'a str>) -> Result<&'a str, String> {
    words.next().ok_or_else(|| "the line ends too early".to_owned())
}

fn expect<'a>(words: &mut impl Iterator<Item = &'a str>, wanted: &str) -> Result<(), String> {
    match word(words)? {
        found if found == wanted => Ok(()),
        found => Err(format!("{found:?} stands where `{wanted}` should")),
    }
}

fn end<'a>(words: &mut impl Iterator<Item = &'a str>) -> Result<(), String> {
    words.next().map_or(Ok(()), |word| Err(format!("{word:?} stands behind the line's end")))
}

fn number<'a>(
    words: &mut impl Iterator<Item = &'a str>,
    radix: u32,
    most: u64,
) -> Result<u64, String> {
    let text = word(words)?;
    let kind = if radix == 16 { "hexadecimal" } else { "decimal" };
    // A sign would be taken by the parser.
    let plain = text.bytes().all(|b| b.is_ascii_hexdigit());
    let value = u64::from_str_radix(text, radix).ok().filter(|_| plain);
    let value = value.ok_or_else(|| format!("{text:?} is not a valid {kind} number"))?;
    if value > most {
        return Err(format!("{text} is more than there can be ({most})"));
    }
    Ok(value)
}

fn byte(text: &str) -> Result<u8, String> {
    let is_byte = text.len() == 2 && text.bytes().all(|b| b.is_ascii_hexdigit());
    let value = u8::from_str_radix(text, 16).ok().filter(|_| is_byte);
    value.ok_or_else(|| format!("{text:?} is not a byte of two hexadecimal digits"))
}
