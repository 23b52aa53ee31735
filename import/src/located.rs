//! Errors that name a file and a line, for importers of text.

use crate::{MAX_ERRORS, fmt_errors};
use std::error::Error;
use std::fmt;

/// One thing wrong in a file, and where.
///
/// Displayed as `FILE:LINE: PROBLEM; REMEDY`.
#[derive(Debug)]
pub struct Located<P> {
    /// The file, or the directory.
    pub file: String,
    /// Line from 1; 0 for the file as a whole.
    pub line: usize,
    /// What is wrong.
    pub problem: P,
}

impl<P: fmt::Display> fmt::Display for Located<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file)?;
        if self.line > 0 {
            write!(f, "{}:", self.line)?;
        }
        write!(f, " {}", self.problem)
    }
}

impl<P: Error + 'static> Error for Located<P> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.problem)
    }
}

/// Everything wrong, as far as reading could go on, at most [`MAX_ERRORS`]; never empty.
#[derive(Debug)]
pub struct LocatedErrors<P>(pub Vec<Located<P>>);

impl<P: fmt::Display> fmt::Display for LocatedErrors<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt_errors(f, &self.0)
    }
}

impl<P: Error> Error for LocatedErrors<P> {}

impl<P> From<Located<P>> for LocatedErrors<P> {
    fn from(error: Located<P>) -> Self {
        Self(vec![error])
    }
}

/// Errors are collected until there are [`MAX_ERRORS`].
#[derive(Debug)]
pub(crate) struct Collected<P>(Vec<Located<P>>);

impl<P> Default for Collected<P> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<P> Collected<P> {
    pub(crate) fn push(&mut self, file: &str, line: usize, problem: P) {
        if !self.is_full() {
            self.0.push(Located { file: file.to_owned(), line, problem });
        }
    }

    /// Whether no more are taken.
    pub(crate) fn is_full(&self) -> bool {
        self.0.len() >= MAX_ERRORS
    }

    /// As many of these as there is room for.
    pub(crate) fn append(&mut self, others: Self) {
        let room = MAX_ERRORS - self.0.len();
        self.0.extend(others.0.into_iter().take(room));
    }

    pub(crate) fn result(self) -> Result<(), LocatedErrors<P>> {
        if self.0.is_empty() { Ok(()) } else { Err(LocatedErrors(self.0)) }
    }
}
