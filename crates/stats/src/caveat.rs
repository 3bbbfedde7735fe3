//! Doubts as data.

use serde::{Deserialize, Serialize};

use crate::remedy::{Remedy, Values};

/// A doubt about a result, with what causes it and what would remove it.
///
/// In JSON the remedy is a sentence, with its code and values beside it. Instruments make caveats without the sentence,
/// and `views::remedies` writes it, into each body before it becomes a document. So bodies stay typed and are serialised
/// once, in the order of their fields: to replace texts in a `serde_json::Value` would sort the fields of every document,
/// and a function that is called while a caveat is serialised would have to be found through a global.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "Form", try_from = "Form")]
pub struct Caveat {
    /// Short stable name, such as `two_modes`.
    pub code: String,
    /// Name of the test concerned, or the target.
    pub subject: String,
    /// Observation and its meaning, in one sentence.
    pub cause: String,
    /// Remedy, as data.
    pub remedy: Remedy,
    /// The remedy as a sentence, once it is written.
    pub sentence: Option<String>,
}

impl Caveat {
    /// A caveat whose remedy is not written as a sentence yet.
    pub fn new(
        code: &str,
        subject: &str,
        cause: impl Into<String>,
        remedy: impl Into<Remedy>,
    ) -> Caveat {
        let (code, subject) = (code.to_owned(), subject.to_owned());
        Caveat { code, subject, cause: cause.into(), remedy: remedy.into(), sentence: None }
    }

    /// The remedy in one sentence; empty if it has not been written yet.
    pub fn sentence(&self) -> &str {
        match (&self.sentence, &self.remedy) {
            (Some(sentence), _) | (None, Remedy::Words(sentence)) => sentence,
            (None, _) => "",
        }
    }

    /// True of the same doubt with the same remedy, however that is written. A record of an older version has the sentence
    /// alone, which any remedy may have been.
    pub fn agrees(&self, other: &Caveat) -> bool {
        let is_old = |caveat: &Caveat| matches!(caveat.remedy, Remedy::Words(_));
        (&self.code, &self.subject, &self.cause) == (&other.code, &other.subject, &other.cause)
            && (self.remedy == other.remedy || is_old(self) || is_old(other))
    }
}

/// A caveat in JSON.
#[derive(Serialize, Deserialize)]
struct Form {
    code: String,
    subject: String,
    cause: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    remedy_code: Option<String>,
    #[serde(default, skip_serializing_if = "Values::is_empty")]
    remedy_values: Values,
}

impl From<Caveat> for Form {
    fn from(caveat: Caveat) -> Form {
        let remedy_code = caveat.remedy.code().map(str::to_owned);
        let remedy_values = caveat.remedy.values();
        let remedy = match caveat.remedy {
            Remedy::Words(words) => caveat.sentence.or(Some(words)),
            _ => caveat.sentence,
        };
        let Caveat { code, subject, cause, .. } = caveat;
        Form { code, subject, cause, remedy, remedy_code, remedy_values }
    }
}

impl TryFrom<Form> for Caveat {
    type Error = &'static str;

    fn try_from(form: Form) -> Result<Caveat, &'static str> {
        let Form { code, subject, cause, remedy: sentence, remedy_code, remedy_values } = form;
        let known = remedy_code.and_then(|code| Remedy::of_code(&code, &remedy_values));
        let (remedy, sentence) = match (known, sentence) {
            (Some(remedy), sentence) => (remedy, sentence),
            (None, Some(sentence)) => (Remedy::Words(sentence), None),
            (None, None) => return Err("missing field `remedy`"),
        };
        Ok(Caveat { code, subject, cause, remedy, sentence })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remedy::Run;

    fn read(json: &str) -> Caveat {
        serde_json::from_str(json).unwrap()
    }

    // Breaks when records of older versions, which have the sentence alone, are read or written otherwise than they are.
    #[test]
    fn a_caveat_of_an_older_version_stays_as_it_is() {
        let old = r#"{"code":"few_runs","subject":"SEQ1M read","cause":"1 run","remedy":"take --runs 6 or more"}"#;
        let caveat = read(old);
        assert_eq!(caveat.remedy, Remedy::Words("take --runs 6 or more".to_owned()));
        assert_eq!(caveat.sentence(), "take --runs 6 or more");
        assert_eq!(serde_json::to_string(&caveat).unwrap(), old);
        assert!(caveat.agrees(&Caveat::new("few_runs", "SEQ1M read", "1 run", Run::Finish)));
        assert!(!caveat.agrees(&Caveat::new("few_runs", "SEQ1M read", "2 runs", Run::Finish)));
    }

    // Breaks when the code does not follow the sentence, when values are lost, or when a stored sentence is replaced.
    #[test]
    fn code_and_values_stand_after_the_sentence() {
        let mut caveat = Caveat::new("few_runs", "x", "y", Remedy::MoreRuns { runs: 6 });
        assert_eq!(caveat.sentence(), "");
        caveat.sentence = Some("take more".to_owned());
        let json = r#"{"code":"few_runs","subject":"x","cause":"y","remedy":"take more","remedy_code":"more_runs","remedy_values":{"runs":6}}"#;
        assert_eq!(serde_json::to_string(&caveat).unwrap(), json);
        assert_eq!(read(json), caveat);
        let simple =
            Caveat { sentence: Some("z".to_owned()), ..Caveat::new("a", "b", "c", Run::Finish) };
        let json = r#"{"code":"a","subject":"b","cause":"c","remedy":"z","remedy_code":"finish"}"#;
        assert_eq!(serde_json::to_string(&simple).unwrap(), json);
        assert_eq!(read(json), simple);
        assert!(simple.agrees(&Caveat::new("a", "b", "c", Run::Finish)));
        assert!(!simple.agrees(&Caveat::new("a", "b", "c", Run::Nothing)));
    }

    // Breaks when a document of a later version cannot be read for a remedy that this one does not have.
    #[test]
    fn an_unknown_code_leaves_the_sentence() {
        let later = r#"{"code":"a","subject":"b","cause":"c","remedy":"do it","remedy_code":"of_later","remedy_values":{"n":[1.0,2.0]}}"#;
        assert_eq!(read(later).remedy, Remedy::Words("do it".to_owned()));
        let none = r#"{"code":"a","subject":"b","cause":"c","remedy_code":"of_later"}"#;
        let error = serde_json::from_str::<Caveat>(none).unwrap_err().to_string();
        assert!(error.contains("missing field `remedy`"), "{error}");
    }
}
