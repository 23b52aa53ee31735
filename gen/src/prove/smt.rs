//! A solver that speaks SMT-LIB 2, and a design as Yosys writes it for one.

use super::ProveError;
use crate::cache;
use crate::tools::{self, Tool};
use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
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

/// Which solver answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SolverKind {
    /// Yices: the quicker one where sums are asked about.
    Yices,
    /// Bitwuzla, from PyPI: the quicker one where one of many places is.
    Bitwuzla,
}

/// The version of PyPI's `bitwuzla` that `scripts/setup.sh` puts into the cache.
pub const BITWUZLA_VERSION: &str = "0.9.1";

/// What Python runs for Bitwuzla: messages are a letter and a length in a line, and a text. Its parser takes one text after the other, but forgets
/// between two how often `push` was said, so that a question is an assumption.
const BITWUZLA: &str = r#"
import sys, bitwuzla as b
o = b.Options()
o.set(b.Option.PRODUCE_MODELS, True)
o.set(b.Option.TIME_LIMIT_PER, int(sys.argv[1]))
p = b.Parser(b.TermManager(), o)
while line := sys.stdin.buffer.readline():
    kind, length = line.split()
    text = sys.stdin.buffer.read(int(length)).decode()
    try:
        if kind == b"tell": p.parse(text, False, False)
        elif kind == b"ask": print({b.Result.SAT: "sat", b.Result.UNSAT: "unsat"}.get(p.bitwuzla().check_sat(p.parse_term(text)), "unknown"), flush=True)
        else: print("(value", str(p.bitwuzla().get_value(p.parse_term(text))) + ")", flush=True)
    except Exception as error:
        print("(error", " ".join(str(error).split()) + ")", flush=True)
"#;

/// A solver that can be started.
#[derive(Clone, Debug)]
pub(super) struct Installed {
    kind: SolverKind,
    program: PathBuf,
    /// Its name and version.
    pub version: String,
}

impl Installed {
    /// The solver of that kind.
    pub fn find(kind: SolverKind) -> Result<Self, ProveError> {
        match kind {
            SolverKind::Yices => {
                let found = tools::find(Tool::Yices)?;
                Ok(Self { kind, program: found.path, version: found.version_line })
            }
            SolverKind::Bitwuzla => Self::bitwuzla().ok_or(ProveError::NoBitwuzla),
        }
    }

    /// The one that `scripts/setup.sh` put into the cache, if it is there and runs.
    pub fn bitwuzla() -> Option<Self> {
        let print = "import bitwuzla; print(bitwuzla.version())";
        let (program, version) = cache::python(&format!("bitwuzla-{BITWUZLA_VERSION}"), print)?;
        Some(Self { kind: SolverKind::Bitwuzla, program, version: format!("Bitwuzla {version}") })
    }
}

/// Name and version of the Bitwuzla in the cache, if it is there and runs.
pub fn bitwuzla_version() -> Option<String> {
    Installed::bitwuzla().map(|found| found.version)
}

/// A running solver.
pub(super) struct Solver {
    kind: SolverKind,
    child: Child,
    // None once the solver has been told to end.
    stdin: Option<BufWriter<ChildStdin>>,
    stdout: BufReader<ChildStdout>,
}

impl Solver {
    /// Starts it; each question may take `limit`.
    pub fn start(found: &Installed, limit: Duration) -> Result<Self, ProveError> {
        let lost = |what: String| ProveError::Solver { what };
        // Both count in 32 bits, and take more for less; 24 days are for ever.
        let limit = limit.clamp(Duration::from_secs(1), Duration::from_millis(i32::MAX as u64));
        let mut command = Command::new(&found.program);
        match found.kind {
            SolverKind::Yices => command.args(["--incremental", &format!("--timeout={}", limit.as_secs())]),
            SolverKind::Bitwuzla => command.args(["-I", "-c", BITWUZLA, &limit.as_millis().to_string()]),
        };
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| lost(format!("it did not start: {e}")))?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(lost("it has no input or output".into()));
        };
        let (stdin, stdout) = (Some(BufWriter::new(stdin)), BufReader::new(stdout));
        Ok(Self { kind: found.kind, child, stdin, stdout })
    }

    /// Says something that has no answer.
    pub fn tell(&mut self, text: &str) -> Result<(), ProveError> {
        match self.kind {
            SolverKind::Yices => self.write(&format!("{text}\n")),
            SolverKind::Bitwuzla => self.message("tell", text),
        }
    }

    /// To Bitwuzla.
    fn message(&mut self, kind: &str, text: &str) -> Result<(), ProveError> {
        self.write(&format!("{kind} {}\n{text}", text.len()))
    }

    fn write(&mut self, text: &str) -> Result<(), ProveError> {
        let stdin = self.stdin.as_mut().ok_or_else(|| ProveError::Solver { what: "it has ended".into() })?;
        if let Err(error) = stdin.write_all(text.as_bytes()) {
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
        match self.kind {
            SolverKind::Yices => self.tell(&format!("(push 1)\n(assert {also})\n(check-sat)"))?,
            SolverKind::Bitwuzla => self.message("ask", also)?,
        }
        let answer = match self.line()?.trim() {
            "sat" => Answer::Sat,
            "unsat" => Answer::Unsat,
            "unknown" | "timeout" | "interrupted" => Answer::Unknown,
            other => return Err(ProveError::Solver { what: format!("it said `{other}`") }),
        };
        let seen = if answer == Answer::Sat { Some(then(self)?) } else { None };
        if self.kind == SolverKind::Yices {
            self.tell("(pop 1)")?;
        }
        Ok((answer, seen))
    }

    /// The value of an expression as binary digits, the highest first; after [`Answer::Sat`] only.
    pub fn value(&mut self, expression: &str) -> Result<String, ProveError> {
        match self.kind {
            SolverKind::Yices => self.tell(&format!("(get-value ({expression}))"))?,
            SolverKind::Bitwuzla => self.message("value", expression)?,
        }
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
#[derive(Debug)]
pub(super) struct Model {
    /// The text.
    pub text: String,
    /// Number and name of each assertion.
    pub assertions: Vec<(usize, String)>,
    /// Number and name of each cover.
    pub covers: Vec<(usize, String)>,
}

impl Model {
    /// Inside the error the first line that names a property in another way than Yosys is known to.
    pub fn new(text: String) -> Result<Self, String> {
        let named = |kind: &str| {
            let lines = text.lines().filter_map(|line| {
                let mut words = line.strip_prefix("; yosys-smt2-")?.strip_prefix(kind)?.split_whitespace();
                let mut parse = || Some((words.next()?.parse().ok()?, words.next()?.to_string()));
                Some(parse().ok_or_else(|| line.to_string()))
            });
            lines.collect::<Result<Vec<_>, _>>()
        };
        Ok(Self { assertions: named("assert ")?, covers: named("cover ")?, text })
    }

    /// All that a solver is told before it hears of states.
    pub fn whole(&self) -> String {
        format!("(set-logic QF_UFBV)\n{}", self.text)
    }

    /// A state, which follows the one of the cycle before.
    pub fn state(cycle: usize) -> String {
        let before = match cycle.checked_sub(1) {
            Some(before) => format!("(assert (|harness_t| s{before} s{cycle}))\n"),
            None => String::new(),
        };
        format!(
            "(declare-fun s{cycle} () |harness_s|)\n{before}(assert (|harness_h| s{cycle}))\n(assert (|harness_u| s{cycle}))"
        )
    }

    /// The assertions' numbers in the order in which they are asked: those that see the least of the design, over a clock edge, first. What is
    /// shown helps with the next question, and what is asked about much is mostly said by what was asked about its parts.
    pub fn order(&self) -> Vec<usize> {
        let wires = Wires::new(&self.text);
        let mut order: Vec<(usize, usize)> =
            self.assertions.iter().map(|(number, _)| (wires.cone(*number), *number)).collect();
        order.sort_unstable();
        order.into_iter().map(|(_, number)| number).collect()
    }
}

/// What each wire of a model is made of.
struct Wires<'a> {
    /// By wire: those in its definition.
    made_of: HashMap<&'a str, Vec<&'a str>>,
    /// By register: those in what it takes at a clock edge.
    takes: HashMap<&'a str, Vec<&'a str>>,
}

impl<'a> Wires<'a> {
    fn new(text: &'a str) -> Self {
        let mut wires = Self { made_of: HashMap::new(), takes: HashMap::new() };
        for line in text.lines() {
            let line = line.split_once(" ; ").map_or(line, |(line, _)| line);
            // Names are `|harness#12|`, those of assertions `|harness_a 12|`.
            let mut names =
                line.split('|').skip(1).step_by(2).filter_map(|name| name.strip_prefix("harness"));
            if line.starts_with("(define-fun ") {
                if let Some(name) = names.next() {
                    wires.made_of.insert(name, names.filter(|name| name.starts_with('#')).collect());
                }
            } else if line.ends_with(" next_state))") {
                let mut names: Vec<&str> = names.collect();
                if let Some(register) = names.pop() {
                    wires.takes.insert(register, names);
                }
            }
        }
        wires
    }

    /// How many wires an assertion depends on, in its own cycle and the one before.
    fn cone(&self, number: usize) -> usize {
        let top = format!("_a {number}");
        let mut seen: HashSet<(&str, bool)> = HashSet::new();
        let mut left: Vec<(&str, bool)> = vec![(&top, false)];
        while let Some((name, before)) = left.pop() {
            if !seen.insert((name, before)) {
                continue;
            }
            left.extend(self.made_of.get(name).into_iter().flatten().map(|name| (*name, before)));
            if !before {
                left.extend(self.takes.get(name).into_iter().flatten().map(|name| (*name, true)));
            }
        }
        seen.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_sees_least_is_asked_first() {
        let text = "; yosys-smt2-assert 0 much\n; yosys-smt2-assert 1 little\n\
            (declare-fun |harness#0| (|harness_s|) (_ BitVec 1)) ; \\a\n\
            (declare-fun |harness#1| (|harness_s|) (_ BitVec 1)) ; \\b\n\
            (define-fun |harness#2| ((state |harness_s|)) (_ BitVec 1) (bvnot (|harness#1| state))) ; \\c\n\
            (define-fun |harness_a 0| ((state |harness_s|)) Bool (= (|harness#2| state) #b1)) ; much\n\
            (define-fun |harness_a 1| ((state |harness_s|)) Bool (= (|harness#0| state) #b1)) ; little\n\
            (define-fun |harness_t| ((state |harness_s|) (next_state |harness_s|)) Bool (and\n  \
            (= (bvand (|harness#0| state) (|harness#2| state)) (|harness#1| next_state)) ; x \\b\n))\n";
        let model = Model::new(text.into()).unwrap();
        assert_eq!(model.order(), [1, 0]);
        let wires = Wires::new(&model.text);
        // Nothing that is to be proved is passed over.
        let unknown = text.replace("assert 1 little", "assert one little");
        assert_eq!(Model::new(unknown).unwrap_err(), "; yosys-smt2-assert one little");
        // Itself, c and b; and before the edge a, c and b.
        assert_eq!((wires.cone(0), wires.cone(1)), (6, 2));
    }
}
