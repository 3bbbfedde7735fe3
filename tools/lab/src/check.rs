//! Expected output of a step, and its differences from the actual one.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::protocol::Ran;

/// Exit statuses that are right.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Exit {
    /// This one.
    One(i32),
    /// Any of these.
    Any(Vec<i32>),
}

impl Default for Exit {
    fn default() -> Exit {
        Exit::One(0)
    }
}

impl Exit {
    fn allows(&self, status: i32) -> bool {
        match self {
            Exit::One(one) => *one == status,
            Exit::Any(any) => any.contains(&status),
        }
    }
}

/// Expected outcome of a script.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Expected {
    /// Its exit status.
    #[serde(default)]
    pub exit: Exit,
    /// Texts that standard output must contain.
    #[serde(default)]
    pub stdout: Vec<String>,
    /// Texts that standard output must not contain.
    #[serde(default)]
    pub stdout_not: Vec<String>,
    /// Texts that standard error must contain.
    #[serde(default)]
    pub stderr: Vec<String>,
    /// Texts that standard error must not contain.
    #[serde(default)]
    pub stderr_not: Vec<String>,
    /// Standard output is JSON, and what each pointer (RFC 6901) points to is so.
    #[serde(default)]
    pub json: BTreeMap<String, toml::Value>,
}

impl Expected {
    /// Describes each difference of `ran` from the expected outcome. `fill` replaces variables in the latter.
    pub fn faults(&self, ran: &Ran, fill: impl Fn(&str) -> String) -> Vec<String> {
        let mut faults = Vec::new();
        if ran.timed_out {
            faults.push(format!(
                "took longer than the scenario may: killed after {} ms",
                ran.took_ms
            ));
        } else if !self.exit.allows(ran.exit) {
            faults.push(format!("exit {}, not {:?}", ran.exit, self.exit));
        }
        let mut texts = |name: &str, text: &str, wanted: &[String], unwanted: &[String]| {
            for part in wanted.iter().map(|p| fill(p)).filter(|p| !text.contains(p.as_str())) {
                faults.push(format!("{name} has no {part:?}"));
            }
            for part in unwanted.iter().map(|p| fill(p)).filter(|p| text.contains(p.as_str())) {
                faults.push(format!("{name} has {part:?}"));
            }
        };
        texts("stdout", &ran.stdout, &self.stdout, &self.stdout_not);
        texts("stderr", &ran.stderr, &self.stderr, &self.stderr_not);
        if !self.json.is_empty() {
            match serde_json::from_str::<Value>(&ran.stdout) {
                Ok(document) => {
                    faults.extend(self.json.iter().filter_map(|(pointer, wanted)| {
                        json_fault(&document, pointer, wanted, &fill)
                    }))
                }
                Err(error) => faults.push(format!("stdout is no JSON: {error}")),
            }
        }
        faults
    }
}

fn json_fault(
    document: &Value,
    pointer: &str,
    wanted: &toml::Value,
    fill: impl Fn(&str) -> String,
) -> Option<String> {
    let found = document.pointer(pointer);
    let told = found.map_or_else(|| "missing".to_owned(), Value::to_string);
    let right = match wanted {
        toml::Value::String(words) => said(found, &fill(words)),
        other => found.is_some_and(|found| same(found, other)),
    };
    (!right).then(|| format!("{pointer} is {told}, not {wanted}"))
}

/// A word in quotes: `present`, `absent`, a comparison such as `>= 10`, `~ part`, or the whole string.
fn said(found: Option<&Value>, words: &str) -> bool {
    match words {
        "present" => return found.is_some_and(|f| !f.is_null()),
        "absent" => return found.is_none_or(Value::is_null),
        _ => {}
    }
    let Some(found) = found else { return false };
    if let Some((operator, number)) = comparison(words) {
        return found.as_f64().is_some_and(|f| match operator {
            "<" => f < number,
            "<=" => f <= number,
            ">" => f > number,
            ">=" => f >= number,
            "==" => f == number,
            _ => f != number,
        });
    }
    if let Some(part) = words.strip_prefix("~ ") {
        return found.as_str().is_some_and(|text| text.contains(part));
    }
    found.as_str() == Some(words)
}

fn comparison(words: &str) -> Option<(&str, f64)> {
    let (operator, number) = words.split_once(' ')?;
    let known = ["<", "<=", ">", ">=", "==", "!="].contains(&operator);
    Some((operator, number.trim().parse().ok()?)).filter(|_| known)
}

fn same(found: &Value, wanted: &toml::Value) -> bool {
    match wanted {
        toml::Value::Integer(number) => found.as_i64() == Some(*number),
        toml::Value::Float(number) => found.as_f64() == Some(*number),
        other => serde_json::to_value(other).is_ok_and(|wanted| *found == wanted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(expected: &str, ran: &Ran) -> Vec<String> {
        let expected: Expected = toml::from_str(expected).unwrap();
        expected.faults(ran, |text| text.replace("$A", "/dev/vda"))
    }

    // A check that cannot fail would let every scenario pass.
    #[test]
    fn each_kind_of_check_fails_on_what_is_not_so() {
        let ran = Ran {
            exit: 3,
            stdout: r#"{"a": {"b": 3, "c": "words here", "n": null, "t": true, "f": 0.5}}"#.into(),
            stderr: "error: /dev/vda is mounted".into(),
            ..Ran::default()
        };
        let right = [
            "exit = 3",
            "exit = [2, 3]",
            "exit = 3\nstderr = ['$A is mounted']\nstderr_not = ['panicked']",
            "exit = 3\nstdout = ['words']\nstdout_not = ['word here']",
            "exit = 3\njson = {'/a/b' = 3, '/a/c' = 'words here', '/a/t' = true, '/a/f' = 0.5}",
            "exit = 3\njson = {'/a/b' = '>= 3', '/a/f' = '< 0.6', '/a/c' = '~ here'}",
            "exit = 3\njson = {'/a/b' = 'present', '/a/n' = 'absent', '/a/x' = 'absent'}",
        ];
        for text in right {
            assert_eq!(faults(text, &ran), [""; 0], "{text}");
        }
        let wrong = [
            "",
            "exit = 0",
            "exit = [0, 2]",
            "exit = 3\nstderr = ['$A is swap']",
            "exit = 3\nstderr_not = ['$A']",
            "exit = 3\nstdout = ['x y']",
            "exit = 3\nstdout_not = ['here']",
            "exit = 3\njson = {'/a/b' = 4}",
            "exit = 3\njson = {'/a/b' = '> 3'}",
            "exit = 3\njson = {'/a/c' = '> 3'}",
            "exit = 3\njson = {'/a/c' = 'words'}",
            "exit = 3\njson = {'/a/c' = '~ there'}",
            "exit = 3\njson = {'/a/x' = '> 3'}",
            "exit = 3\njson = {'/a/n' = 'present'}",
            "exit = 3\njson = {'/a/t' = false}",
            "exit = 3\njson = {'/a/t' = 'absent'}",
        ];
        for text in wrong {
            assert_eq!(faults(text, &ran).len(), 1, "{text}");
        }
    }

    #[test]
    fn a_script_that_was_killed_is_at_fault_whatever_it_ended_in() {
        let ran = Ran { exit: 0, timed_out: true, ..Ran::default() };
        assert_eq!(faults("", &ran).len(), 1);
    }
}
