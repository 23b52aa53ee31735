//! What the names of a design's modules may begin with.

use std::str::FromStr;
use thiserror::Error;

/// The beginning of every module's name; by default nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prefix(String);

/// A prefix that no identifier of Verilog begins with, or that is none of a file's name on every system.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "`{got}` cannot begin a module's name; use letters, digits and `_`, and begin with no digit, as in `acme_`"
)]
pub struct PrefixError {
    /// What it was to be.
    pub got: String,
}

impl Prefix {
    /// The prefix.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Prefix {
    type Err = PrefixError;

    fn from_str(text: &str) -> Result<Self, PrefixError> {
        let fits = text.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_');
        match text.bytes().next() {
            Some(first) if fits && !first.is_ascii_digit() => Ok(Self(text.into())),
            _ => Err(PrefixError { got: text.into() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_begins_an_identifier() {
        for good in ["a", "_", "acme_", "X9_"] {
            assert_eq!(good.parse::<Prefix>().map(|prefix| prefix.0), Ok(good.into()));
        }
        for bad in ["", "9a", "a-", "a b", "a$", "é", "../a", "\\a"] {
            assert_eq!(bad.parse::<Prefix>(), Err(PrefixError { got: bad.into() }));
        }
    }
}
