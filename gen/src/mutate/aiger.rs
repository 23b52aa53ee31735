//! A netlist of AND gates and latches, as AIGER writes it; and two copies of it side by side, to be compared.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use thiserror::Error;

/// A text that is no netlist: something else wrote it, or it was cut off.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "line {line} of the AIGER netlist: {problem}; write it with Yosys' `aigmap; write_aiger -ascii -symbols`"
)]
pub struct AigerError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub problem: AigerProblem,
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AigerProblem {
    /// The first line is not that of the ASCII form.
    #[error("`{header}` is not a header, which is `aag` and at least five numbers")]
    Header {
        /// The line.
        header: String,
    },
    /// The header announces what is not there.
    #[error("there is less in the file than `{header}` says")]
    Counts {
        /// The line.
        header: String,
    },
    /// Too few numbers, or a literal beyond those that the header announces.
    #[error("`{text}` has too few numbers, or one that is out of range")]
    Numbers {
        /// The line.
        text: String,
    },
    /// Variables do not come one after the other.
    #[error("{what} {got} is out of order")]
    Order {
        /// Of what.
        what: &'static str,
        /// The literal.
        got: u32,
    },
    /// A gate's operand is not before it.
    #[error("gate {gate} is used before it is defined")]
    Early {
        /// The gate's literal.
        gate: u32,
    },
}

/// A netlist. A literal is twice a variable, plus 1 where it is inverted; variable 0 is constant false, inputs follow, then latches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aiger {
    /// Names of the inputs, `port` or `port[bit]`.
    pub inputs: Vec<String>,
    /// What each latch takes at the clock edge, and what it starts with, if that is known.
    pub(crate) latches: Vec<(u32, Option<u32>)>,
    /// Names of the latches, as far as they have one.
    pub(crate) latch_names: Vec<String>,
    /// Names of the outputs.
    pub(crate) output_names: Vec<String>,
    /// What each output is.
    pub(crate) outputs: Vec<u32>,
    /// What is true where an assertion fails.
    pub(crate) bad: Vec<u32>,
    /// What is assumed to be true.
    pub(crate) constraints: Vec<u32>,
    /// The operands of each gate; both are variables before it.
    pub(crate) gates: Vec<[u32; 2]>,
}

impl Aiger {
    /// Reads the ASCII form.
    pub fn parse(text: &str) -> Result<Self, AigerError> {
        let wrong = |line, problem| AigerError { line, problem };
        let mut lines = text.lines();
        let header = lines.next().unwrap_or_default();
        let counts: Vec<usize> = header
            .strip_prefix("aag ")
            .unwrap_or_default()
            .split(' ')
            .filter_map(|n| n.parse().ok())
            .collect();
        // Assertions and assumptions are counted after the gates, and only where there are any; then liveness, which nobody asks for.
        let (&[most, inputs, latches, outputs, gates], more) = match counts.split_first_chunk::<5>() {
            Some((five, more)) if more.iter().skip(2).all(|count| *count == 0) => (five, more),
            _ => return Err(wrong(1, AigerProblem::Header { header: header.into() })),
        };
        let [bad, constraints] = [0, 1].map(|at| more.get(at).copied().unwrap_or(0));
        // Nothing is made for lines that are not there.
        let announced =
            [inputs, latches, outputs, bad, constraints, gates].into_iter().try_fold(0, usize::checked_add);
        if announced.is_none_or(|lines| lines >= text.lines().count()) || most != inputs + latches + gates {
            return Err(wrong(1, AigerProblem::Counts { header: header.into() }));
        }
        // The number of the line, and the numbers in it.
        let mut line = 1;
        let mut numbers = |least: usize| -> Result<(usize, Vec<u32>), AigerError> {
            line += 1;
            let text = lines.next().unwrap_or_default();
            let numbers: Vec<u32> = text.split(' ').filter_map(|n| n.parse().ok()).collect();
            let in_range = numbers.iter().all(|n| *n as usize / 2 <= most);
            if numbers.len() >= least && in_range {
                Ok((line, numbers))
            } else {
                Err(wrong(line, AigerProblem::Numbers { text: text.into() }))
            }
        };
        let mut netlist = Self {
            inputs: vec![String::new(); inputs],
            latches: vec![],
            latch_names: vec![String::new(); latches],
            output_names: vec![String::new(); outputs],
            outputs: vec![],
            bad: vec![],
            constraints: vec![],
            gates: vec![],
        };
        let expect = |line, what, got: u32, index: usize| {
            if got as usize == 2 * index {
                Ok(())
            } else {
                Err(wrong(line, AigerProblem::Order { what, got }))
            }
        };
        for i in 0..inputs {
            let (line, input) = numbers(1)?;
            expect(line, "input", input[0], i + 1)?;
        }
        for i in 0..latches {
            let (line, latch) = numbers(2)?;
            expect(line, "latch", latch[0], inputs + i + 1)?;
            // 0 is not written; a latch that starts with itself starts with anything.
            let start = latch.get(2).copied().unwrap_or(0);
            netlist.latches.push((latch[1], (start < 2).then_some(start)));
        }
        for (count, list) in [
            (outputs, &mut netlist.outputs),
            (bad, &mut netlist.bad),
            (constraints, &mut netlist.constraints),
        ] {
            for _ in 0..count {
                list.push(numbers(1)?.1[0]);
            }
        }
        for i in 0..gates {
            let (line, gate) = numbers(3)?;
            expect(line, "gate", gate[0], inputs + latches + i + 1)?;
            if gate[1].max(gate[2]) >= gate[0] {
                return Err(wrong(line, AigerProblem::Early { gate: gate[0] }));
            }
            netlist.gates.push([gate[1], gate[2]]);
        }
        for line in lines.take_while(|line| *line != "c") {
            let Some((index, name)) = line.split_at_checked(1).and_then(|(_, rest)| rest.split_once(' '))
            else {
                continue;
            };
            let names = match line.as_bytes()[0] {
                b'i' => &mut netlist.inputs,
                b'l' => &mut netlist.latch_names,
                b'o' => &mut netlist.output_names,
                _ => continue,
            };
            if let Some(to) = index.parse().ok().and_then(|i: usize| names.get_mut(i)) {
                *to = name.split(' ').next().unwrap_or_default().to_string();
            }
        }
        Ok(netlist)
    }

    /// Two copies with the same inputs, those where the input `select` is one and the other of `chosen`, and one output that is true
    /// where any output of theirs differs, but for those in `aside`.
    ///
    /// `reset`, if given, is held low in the first cycle, in which nothing is compared. Each latch starts with its value, or any, the same in
    /// both copies: what a design without reset starts with nobody knows. The inputs in `held` are constant. Nothing counts from the cycle on
    /// in which one of the outputs `required`, which are among those aside, is false in the first copy.
    pub fn miter(
        &self,
        select: &str,
        chosen: [u32; 2],
        reset: Option<&str>,
        held: &BTreeMap<String, bool>,
        [aside, required]: [&[&str]; 2],
    ) -> Miter {
        let count = self.latches.len();
        let selecting = |name: &String| bit_of(select, name);
        let given: Vec<String> =
            self.inputs.iter().filter(|name| selecting(name).is_none()).cloned().collect();
        // The miter's own inputs are those of the design and the latches' values at the start; its latches are the two copies',
        // one that says that the first cycle is over, and one that says that a cycle did not count.
        let variable = |index: usize| 2 * (index as u32 + 1);
        let start = |latch: usize| variable(given.len() + latch);
        let latch = |copy: usize, latch: usize| variable(given.len() + count + copy * count + latch);
        let running = variable(given.len() + 3 * count);
        let over = variable(given.len() + 3 * count + 1);
        let copy = |builder: &mut Builder, copy: usize, apart: &[bool]| {
            let mut literals = vec![0];
            let mut index = 0;
            for name in &self.inputs {
                literals.push(match selecting(name) {
                    Some(bit) => chosen[copy] >> bit & 1,
                    None => {
                        let input = variable(index);
                        index += 1;
                        match held.get(name) {
                            Some(value) => u32::from(*value),
                            None if reset == Some(name.as_str()) => builder.and(input, running),
                            None => input,
                        }
                    }
                });
            }
            for (i, (_, value)) in self.latches.iter().enumerate() {
                let latch = latch(if apart[i] { copy } else { 0 }, i);
                literals.push(builder.choose(running, latch, value.unwrap_or(start(i))));
            }
            let literal = |literals: &[u32], l: u32| literals[l as usize / 2] ^ (l & 1);
            for [a, b] in &self.gates {
                let gate = builder.and(literal(&literals, *a), literal(&literals, *b));
                literals.push(gate);
            }
            let next: Vec<u32> = self.latches.iter().map(|(l, _)| literal(&literals, *l)).collect();
            let outputs: Vec<u32> = self.outputs.iter().map(|l| literal(&literals, *l)).collect();
            (next, outputs)
        };
        // A latch is in both copies only where it takes something else in the second, by what is there twice already.
        let mut apart = vec![false; count];
        let (mut builder, mut next, outputs) = loop {
            let mut builder = Builder::new(given.len() + 3 * count + 2);
            let (first, outputs_0) = copy(&mut builder, 0, &apart);
            let (second, outputs_1) = copy(&mut builder, 1, &apart);
            let differs: Vec<bool> = (0..count).map(|i| apart[i] || first[i] != second[i]).collect();
            if differs == apart {
                let second = second.iter().zip(&apart).map(|(l, apart)| if *apart { *l } else { 0 });
                break (
                    builder,
                    first.iter().copied().chain(second).collect::<Vec<_>>(),
                    [outputs_0, outputs_1],
                );
            }
            apart = differs;
        };
        let compared = if reset.is_some() { running } else { 1 };
        let (mut same, mut counts) = (1, 1);
        for ((a, b), name) in outputs[0].iter().zip(&outputs[1]).zip(&self.output_names) {
            if required.contains(&name.as_str()) {
                counts = builder.and(counts, *a);
            } else if !aside.contains(&name.as_str()) {
                let differ = builder.xor(*a, *b);
                same = builder.and(same, differ ^ 1);
            }
        }
        let breaks = builder.and(counts ^ 1, compared);
        let still_counts = builder.and(over ^ 1, breaks ^ 1);
        next.extend([1, still_counts ^ 1]);
        let differs = builder.and(same ^ 1, compared);
        let output = builder.and(differs, still_counts);
        Miter { inputs: given, starts: count, next, output, gates: builder.gates }
    }
}

/// The bit of `port` that `name` is.
pub(crate) fn bit_of(port: &str, name: &str) -> Option<u32> {
    let rest = name.strip_prefix(port)?;
    if rest.is_empty() { Some(0) } else { rest.strip_prefix('[')?.strip_suffix(']')?.parse().ok() }
}

/// Two netlists beside each other; all latches start at 0.
#[derive(Clone, Debug)]
#[must_use = "it is the question, and answers nothing by itself"]
pub struct Miter {
    /// Names of the design's inputs. As many inputs follow as a copy has latches.
    pub inputs: Vec<String>,
    starts: usize,
    next: Vec<u32>,
    output: u32,
    gates: Vec<[u32; 2]>,
}

impl Miter {
    /// Whether there is nothing to compare: every output is the same function of inputs and latches, which are the same.
    pub fn is_trivial(&self) -> bool {
        self.output == 0
    }

    /// The binary form.
    pub fn binary(&self) -> Vec<u8> {
        let (inputs, latches, gates) = (self.inputs.len() + self.starts, self.next.len(), self.gates.len());
        let most = inputs + latches + gates;
        let mut header = format!("aig {most} {inputs} {latches} 1 {gates}\n");
        for literal in self.next.iter().chain([&self.output]) {
            // Writing to a String cannot fail.
            let _ = writeln!(header, "{literal}");
        }
        let mut bytes = header.into_bytes();
        for (i, [a, b]) in self.gates.iter().enumerate() {
            let this = 2 * (inputs + latches + i + 1) as u32;
            let (high, low) = (*a.max(b), *a.min(b));
            for mut delta in [this - high, high - low] {
                while delta >= 0x80 {
                    bytes.push(delta as u8 | 0x80);
                    delta >>= 7;
                }
                bytes.push(delta as u8);
            }
        }
        bytes
    }
}

/// Gates in the making: constants vanish, and no two are the same.
pub(crate) struct Builder {
    /// The literal of the first gate.
    pub first: u32,
    /// Their operands.
    pub gates: Vec<[u32; 2]>,
    known: HashMap<[u32; 2], u32>,
}

impl Builder {
    pub fn new(variables: usize) -> Self {
        Self { first: 2 * (variables as u32 + 1), gates: Vec::new(), known: HashMap::new() }
    }

    pub fn and(&mut self, a: u32, b: u32) -> u32 {
        let [a, b] = [a.min(b), a.max(b)];
        match a {
            0 => return 0,
            1 => return b,
            _ if a == b => return a,
            _ if a ^ 1 == b => return 0,
            _ => {}
        }
        let next = self.first + 2 * self.gates.len() as u32;
        let literal = *self.known.entry([a, b]).or_insert(next);
        if literal == next {
            self.gates.push([a, b]);
        }
        literal
    }

    pub fn or(&mut self, a: u32, b: u32) -> u32 {
        self.and(a ^ 1, b ^ 1) ^ 1
    }

    pub fn xor(&mut self, a: u32, b: u32) -> u32 {
        self.choose(a, b ^ 1, b)
    }

    pub fn choose(&mut self, condition: u32, yes: u32, no: u32) -> u32 {
        if yes == no {
            return yes;
        }
        let yes = self.and(condition, yes);
        let no = self.and(condition ^ 1, no);
        self.or(yes, no)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A latch that takes `a & s`, and an output that is the latch.
    const NETLIST: &str = "aag 4 2 1 1 1\n2\n4\n6 8 6\n6\n8 2 4\ni0 a_i\ni1 s\nl0 q\no0 q\nc\nby hand\n";

    #[test]
    fn a_netlist_is_read() {
        let netlist = Aiger::parse(NETLIST).unwrap();
        assert_eq!(
            (&netlist.inputs[..], &netlist.latch_names[..]),
            (&["a_i", "s"].map(String::from)[..], &["q".to_string()][..])
        );
        assert_eq!(
            (&netlist.latches[..], &netlist.outputs[..], &netlist.gates[..]),
            (&[(8, None)][..], &[6][..], &[[2, 4]][..])
        );
        // An assertion and an assumption; what comes after them in the header is for questions that nobody asks.
        let formal = Aiger::parse("aag 1 1 0 0 0 1 1 0 0\n2\n2\n3\ni0 a_i\n").unwrap();
        assert_eq!((&formal.bad[..], &formal.constraints[..]), (&[2][..], &[3][..]));
        for bad in [
            "",
            "aag 1 1 0 0 0 0 0 1\n2\n2\n",
            "aig 1 1 0 0 0\n2\n",
            "aag 1 1 0 1 0\n2\n",
            "aag 1 1 0 1 0\n2\n9\n",
            "aag 2 1 0 0 1\n2\n4 4 2\n",
            "aag 1 18446744073709551615 0 0 0\n2\n",
            "aag 1 1 0 18446744073709551615 0\n2\n",
            "aag 2 1 0 1 0\n2\n4\n",
        ] {
            assert!(Aiger::parse(bad).is_err(), "{bad}");
        }
        let error = Aiger::parse("aag 2 1 0 1 1\n2\n4\n4 4 2\n").unwrap_err();
        assert_eq!(error, AigerError { line: 4, problem: AigerProblem::Early { gate: 4 } });
        let error = Aiger::parse("aag 1 1 0 1 0\n2\n9\n").unwrap_err().to_string();
        assert!(
            error.contains("line 3") && error.contains("`9`") && error.contains("write_aiger"),
            "{error}"
        );
    }

    #[test]
    fn what_is_the_same_in_both_copies_is_there_once() {
        let netlist = Aiger::parse(NETLIST).unwrap();
        let miter = |chosen, held: &[(&str, bool)]| {
            let held = held.iter().map(|(name, value)| (name.to_string(), *value)).collect();
            netlist.miter("s", chosen, None, &held, [&[], &[]])
        };
        assert!(miter([0, 0], &[]).is_trivial());
        let mutant = miter([0, 1], &[]);
        assert_eq!(mutant.inputs, ["a_i"]);
        assert_eq!(mutant.next[..3], [0, 2, 1]);
        assert!(mutant.binary().starts_with(b"aig "));
        assert_eq!(miter([0, 1], &[("a_i", true)]).next[..3], [0, 1, 1]);
    }

    #[test]
    fn nothing_counts_where_what_is_required_is_not_so() {
        // Two outputs, the latch and the input: where the input has to be 0, the latch stays 0 in both.
        let netlist =
            Aiger::parse("aag 4 2 1 2 1\n2\n4\n6 8 0\n6\n3\n8 2 4\ni0 a_i\ni1 s\nl0 q\no0 q\no1 low\n")
                .unwrap();
        let miter =
            |required: &[&str]| netlist.miter("s", [0, 1], None, &BTreeMap::new(), [&["low"], required]);
        assert!(miter(&[]).gates.len() < miter(&["low"]).gates.len());
    }
}
