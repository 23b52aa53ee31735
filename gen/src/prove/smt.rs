//! A solver that speaks SMT-LIB 2, and a design as Yosys writes it for one.

use super::ProveError;
use crate::tools::Found;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Duration;

/// What a solver said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// There is such a state.
    Sat,
    /// There is none.
    Unsat,
    /// It took too long.
    Unknown,
}

/// A running solver.
pub(super) struct Solver {
    child: Child,
    // None once the solver has been told to end.
    stdin: Option<BufWriter<ChildStdin>>,
    stdout: BufReader<ChildStdout>,
}

impl Solver {
    /// Starts Yices; each question may take `limit`.
    pub fn start(found: &Found, limit: Duration) -> Result<Self, ProveError> {
        let lost = |what: String| ProveError::Solver { what };
        let mut child = found
            .command()
            .args(["--incremental", &format!("--timeout={}", limit.as_secs().max(1))])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| lost(format!("it did not start: {e}")))?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(lost("it has no input or output".into()));
        };
        Ok(Self { child, stdin: Some(BufWriter::new(stdin)), stdout: BufReader::new(stdout) })
    }

    /// Says something that has no answer.
    pub fn tell(&mut self, text: &str) -> Result<(), ProveError> {
        let stdin = self.stdin.as_mut().ok_or_else(|| ProveError::Solver { what: "it has ended".into() })?;
        if let Err(error) = writeln!(stdin, "{text}") {
            return Err(self.last_words(&error));
        }
        Ok(())
    }

    /// Why it stopped listening: what it said last, where it said anything.
    fn last_words(&mut self, error: &std::io::Error) -> ProveError {
        self.stdin = None;
        let said = self.stdout.by_ref().lines().map_while(Result::ok).last();
        ProveError::Solver { what: said.unwrap_or_else(|| format!("it stopped: {error}")) }
    }

    fn line(&mut self) -> Result<String, ProveError> {
        let lost = |what: String| ProveError::Solver { what };
        if let Some(Err(error)) = self.stdin.as_mut().map(Write::flush) {
            return Err(self.last_words(&error));
        }
        let mut line = String::new();
        match self.stdout.read_line(&mut line) {
            Ok(0) => Err(lost("it ended without an answer; is there enough memory?".into())),
            Ok(_) if line.starts_with("(error") => Err(lost(line.trim().to_string())),
            Ok(_) => Ok(line),
            Err(e) => Err(lost(e.to_string())),
        }
    }

    /// Is what was said so far, and `also`, possible? What was said in `also` is forgotten, but for where the answer is
    /// [`Answer::Sat`] and `then` looks at the state.
    pub fn ask<T>(
        &mut self,
        also: &str,
        then: impl FnOnce(&mut Self) -> Result<T, ProveError>,
    ) -> Result<(Answer, Option<T>), ProveError> {
        self.tell("(push 1)")?;
        self.tell(&format!("(assert {also})"))?;
        self.tell("(check-sat)")?;
        let answer = match self.line()?.trim() {
            "sat" => Answer::Sat,
            "unsat" => Answer::Unsat,
            "unknown" | "timeout" | "interrupted" => Answer::Unknown,
            other => return Err(ProveError::Solver { what: format!("it said `{other}`") }),
        };
        let seen = if answer == Answer::Sat { Some(then(self)?) } else { None };
        self.tell("(pop 1)")?;
        Ok((answer, seen))
    }

    /// The value of an expression as binary digits, the highest first; after [`Answer::Sat`] only.
    pub fn value(&mut self, expression: &str) -> Result<String, ProveError> {
        self.tell(&format!("(get-value ({expression}))"))?;
        let mut text = String::new();
        loop {
            text.push_str(&self.line()?);
            if text.matches('(').count() == text.matches(')').count() {
                break;
            }
        }
        let value = text.trim().trim_end_matches(')').rsplit([' ', '\n']).next().unwrap_or_default();
        match value {
            "true" => Ok("1".into()),
            "false" => Ok("0".into()),
            other => match other.strip_prefix("#b") {
                Some(digits) => Ok(digits.to_string()),
                None => Err(ProveError::Solver { what: format!("it gave `{other}` as a value") }),
            },
        }
    }
}

impl Drop for Solver {
    fn drop(&mut self) {
        self.stdin = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A design as Yosys' `write_smt2 -wires` writes it: functions of a state, and a transition.
pub(super) struct Model {
    /// The text.
    pub text: String,
    /// Number and name of each assertion.
    pub assertions: Vec<(usize, String)>,
    /// Number and name of each cover.
    pub covers: Vec<(usize, String)>,
}

impl Model {
    pub fn new(text: String) -> Self {
        let named = |kind: &str| {
            let lines = text.lines().filter_map(|line| {
                let mut words = line.strip_prefix("; yosys-smt2-")?.strip_prefix(kind)?.split_whitespace();
                Some((words.next()?.parse().ok()?, words.next()?.to_string()))
            });
            lines.collect()
        };
        Self { assertions: named("assert "), covers: named("cover "), text }
    }
}
