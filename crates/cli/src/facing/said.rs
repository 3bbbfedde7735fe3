//! Our own words on diskspd's command line, which are no options of diskspd.

use anyhow::{Result, anyhow, bail};
use block::EngineChoice;
use mark::diskspd::Manner;

/// What they say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// How offsets are made.
    pub manner: Manner,
    /// A refuted number is a failure.
    pub strict: bool,
    /// Words of consent, of one target each.
    pub consent: Vec<String>,
    /// What may be lost.
    pub allow: Vec<String>,
    /// The engine, in the place of diskspd's own.
    pub engine: Option<EngineChoice>,
}

impl Said {
    /// Takes them out of `words`; the rest is diskspd's. Behind `--` are targets alone.
    ///
    /// # Errors
    /// When a value is missing, or of no meaning.
    pub fn take(words: Vec<String>) -> Result<(Said, Vec<String>)> {
        let (mut said, mut rest) = (Said::default(), Vec::new());
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
                said.strict = true;
            } else if ["--emulate", "--consent", "--allow", "--engine"].contains(&name) {
                let name = name.to_owned();
                let Some(value) = joined.or_else(|| words.next()) else {
                    bail!("{name}: its value is missing");
                };
                said.set(&name, value)?;
            } else {
                rest.push(word);
            }
        }
        Ok((said, rest))
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
        let (said, rest) = Said::take(words(line)).unwrap();
        assert_eq!(rest, words("-b4K t -- --strict"));
        let (consent, allow) = (words("W"), words("x y"));
        let engine = Some(EngineChoice::Only(EngineKind::Psync));
        assert_eq!(said, Said { manner: Manner::Emulated, strict: true, consent, allow, engine });
        assert_eq!(Said::take(words("-b4K t")).unwrap().0, Said::default());
        assert!(Said::take(words("--emulate=fio t")).is_err());
        assert!(Said::take(words("--engine=aio t")).is_err());
        assert!(Said::take(words("t --consent")).is_err());
    }
}
