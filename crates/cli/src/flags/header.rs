//! A request header as a flag's value: `Name: value`.
//!
//! The value may be a token. So a wrong one is not repeated in the error, as clap would do, which
//! ends up in logs.

use std::ffi::OsStr;

use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use clap::{Arg, Command, Error};

/// Reads a header such as `X-Hotdogs: aplenty`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HeaderParser;

impl TypedValueParser for HeaderParser {
    type Value = (String, String);

    fn parse_ref(
        &self,
        command: &Command,
        _: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Self::Value, Error> {
        value.to_str().and_then(parsed).ok_or_else(|| {
            let why = "a value of -H is not a header: write -H 'Name: value'; it is not repeated \
                       here because it may be secret\n";
            Error::raw(ErrorKind::ValueValidation, why).with_cmd(command)
        })
    }
}

fn parsed(text: &str) -> Option<(String, String)> {
    let (name, value) = text.split_once(':')?;
    let name = name.trim();
    (!name.is_empty()).then(|| (name.to_owned(), value.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::parsed;
    use crate::flags::Flags;

    #[test]
    fn a_header_is_cut_at_its_first_colon() {
        let expected = Some(("A".to_owned(), "b: c".to_owned()));
        assert_eq!(parsed("A: b: c"), expected);
        assert_eq!((parsed("no colon"), parsed(": x")), (None, None));
    }

    #[test]
    fn a_wrong_header_is_not_repeated() {
        for wrong in ["Bearer sesame", ": sesame", "Authorization Bearer sesame"] {
            for line in [
                ["bakeoff", "load", "http://127.0.0.1/", "-H", wrong],
                ["bakeoff", "race", "http://127.0.0.1/", "-H", wrong],
            ] {
                let error = Flags::try_parse_from(line).expect_err(wrong);
                assert_eq!(error.exit_code(), 2);
                let message = error.to_string();
                assert!(message.contains("-H 'Name: value'"), "{message}");
                assert!(!message.contains("sesame"), "{message}");
            }
        }
    }
}
