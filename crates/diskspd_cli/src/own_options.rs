//! drivescope's own options on a command line of diskspd.

use anyhow::{Result, anyhow, bail};
use block::EngineChoice;
use mark::diskspd::Manner;

/// Values of these options.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnOptions {
    /// How offsets are made.
    pub manner: Manner,
    /// A refuted number is a failure.
    pub strict: bool,
    /// Words of consent, for one target each.
    pub consent: Vec<String>,
    /// Hazards that the user allowed, by name.
    pub allow: Vec<String>,
    /// The engine, instead of diskspd's own.
    pub engine: Option<EngineChoice>,
}

impl OwnOptions {
    /// Takes them out of `words`; the rest is diskspd's. After `--` are targets alone.
    ///
    /// # Errors
    /// When a value is missing or unknown.
    pub fn take(words: Vec<String>) -> Result<(OwnOptions, Vec<String>)> {
        let (mut own, mut rest) = (OwnOptions::default(), Vec::new());
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let (name, joined) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (word.as_str(), None),
            };
            if word == "--" {
                rest.push(word);
                rest.extend(words.by_ref());
            } else if word == "--strict" {
                own.strict = true;
            } else if ["--emulate", "--consent", "--allow", "--engine"].contains(&name) {
                let name = name.to_owned();
                let Some(value) = joined.or_else(|| words.next()) else {
                    bail!("{name}: its value is missing");
                };
                own.set(&name, value)?;
            } else {
                rest.push(word);
            }
        }
        Ok((own, rest))
    }

    fn set(&mut self, name: &str, value: String) -> Result<()> {
        match name {
            "--consent" => self.consent.push(value),
            "--allow" => self.allow.push(value),
            "--engine" => {
                let read = value.parse();
                self.engine =
                    Some(read.map_err(|hint: String| anyhow!("--engine={value}: {hint}"))?);
            }
            _ if value == "diskspd-linux" => self.manner = Manner::Emulated,
            _ => bail!("--emulate={value}: has to be diskspd-linux"),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use block::EngineKind;

    use super::*;

    #[test]
    fn our_words_are_taken_out_and_no_others() {
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let line = "-b4K --emulate diskspd-linux --strict --allow=x --consent W --engine=psync --allow y t -- --strict";
        let (own, rest) = OwnOptions::take(words(line)).unwrap();
        assert_eq!(rest, words("-b4K t -- --strict"));
        let (consent, allow) = (words("W"), words("x y"));
        let engine = Some(EngineChoice::Only(EngineKind::Psync));
        assert_eq!(
            own,
            OwnOptions { manner: Manner::Emulated, strict: true, consent, allow, engine }
        );
        assert_eq!(OwnOptions::take(words("-b4K t")).unwrap().0, OwnOptions::default());
        assert!(OwnOptions::take(words("--emulate=fio t")).is_err());
        assert!(OwnOptions::take(words("--engine=aio t")).is_err());
        assert!(OwnOptions::take(words("t --consent")).is_err());
    }
}
