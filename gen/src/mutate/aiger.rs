//! A netlist of AND gates and latches, as AIGER writes it; and two copies of it side by side, to be compared.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

/// A netlist. A literal is twice a variable, plus 1 where it is inverted; variable 0 is constant false, inputs follow, then latches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aiger {
    /// Names of the inputs, `port` or `port[bit]`.
    pub inputs: Vec<String>,
    /// What each latch takes at the clock edge.
    latches: Vec<u32>,
    /// What each output is.
    outputs: Vec<u32>,
    /// The operands of each gate; both are variables before it.
    gates: Vec<[u32; 2]>,
}

impl Aiger {
    /// Reads the ASCII form. What latches start with is not kept: see [`miter`](Self::miter).
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut lines = text.lines();
        let header = lines.next().unwrap_or_default();
        let counts: Vec<usize> = header
            .strip_prefix("aag ")
            .unwrap_or_default()
            .split(' ')
            .filter_map(|n| n.parse().ok())
            .collect();
        let [most, inputs, latches, outputs, gates] = counts[..] else {
            return Err(format!("no AIGER netlist: `{header}`"));
        };
        let mut numbers = |least: usize| -> Result<Vec<u32>, String> {
            let line = lines.next().unwrap_or_default();
            let numbers: Vec<u32> = line.split(' ').filter_map(|n| n.parse().ok()).collect();
            let in_range = numbers.iter().all(|n| *n as usize / 2 <= most);
            if numbers.len() >= least && in_range { Ok(numbers) } else { Err(format!("AIGER: `{line}`")) }
        };
        let mut netlist =
            Self { inputs: vec![String::new(); inputs], latches: vec![], outputs: vec![], gates: vec![] };
        let expect = |what: &str, got: u32, index: usize| {
            if got as usize == 2 * index {
                Ok(())
            } else {
                Err(format!("AIGER: {what} {got} is out of order"))
            }
        };
        for i in 0..inputs {
            expect("input", numbers(1)?[0], i + 1)?;
        }
        for i in 0..latches {
            let latch = numbers(2)?;
            expect("latch", latch[0], inputs + i + 1)?;
            netlist.latches.push(latch[1]);
        }
        for _ in 0..outputs {
            netlist.outputs.push(numbers(1)?[0]);
        }
        for i in 0..gates {
            let gate = numbers(3)?;
            expect("gate", gate[0], inputs + latches + i + 1)?;
            if gate[1].max(gate[2]) >= gate[0] {
                return Err(format!("AIGER: gate {} is used before it is there", gate[0]));
            }
            netlist.gates.push([gate[1], gate[2]]);
        }
        for line in lines.take_while(|line| *line != "c") {
            let named = line.strip_prefix('i').and_then(|rest| rest.split_once(' '));
            if let Some((index, name)) = named
                && let Some(input) = index.parse().ok().and_then(|i: usize| netlist.inputs.get_mut(i))
            {
                *input = name.split(' ').next().unwrap_or_default().to_string();
            }
        }
        Ok(netlist)
    }

    /// Two copies with the same inputs, the one where the input `select` is 0 beside the one where it is `mutant`, and one output that is
    /// true where any output of theirs differs.
    ///
    /// `reset`, if given, is held low in the first cycle, in which nothing is compared. Each latch starts with any value, the same in
    /// both copies: what a design without reset starts with nobody knows. The inputs in `held` are constant.
    pub fn miter(
        &self,
        select: &str,
        mutant: u32,
        reset: Option<&str>,
        held: &BTreeMap<String, bool>,
    ) -> Miter {
        let count = self.latches.len();
        let selecting = |name: &String| bit_of(select, name);
        let given: Vec<String> =
            self.inputs.iter().filter(|name| selecting(name).is_none()).cloned().collect();
        // The miter's own inputs are those of the design and the latches' values at the start; its latches are the two copies'
        // and one that says that the first cycle is over.
        let mut builder = Builder::new(given.len() + count + 2 * count + 1);
        let variable = |index: usize| 2 * (index as u32 + 1);
        let start = |latch: usize| variable(given.len() + latch);
        let latch = |copy: usize, latch: usize| variable(given.len() + count + copy * count + latch);
        let running = variable(given.len() + 3 * count);
        let mut next = Vec::with_capacity(2 * count + 1);
        let mut outputs = Vec::new();
        for (copy, chosen) in [0, mutant].into_iter().enumerate() {
            let mut literals = vec![0];
            let mut index = 0;
            for name in &self.inputs {
                literals.push(match selecting(name) {
                    Some(bit) => chosen >> bit & 1,
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
            for i in 0..count {
                literals.push(builder.choose(running, latch(copy, i), start(i)));
            }
            let literal = |literals: &[u32], l: u32| literals[l as usize / 2] ^ (l & 1);
            for [a, b] in &self.gates {
                let gate = builder.and(literal(&literals, *a), literal(&literals, *b));
                literals.push(gate);
            }
            next.extend(self.latches.iter().map(|l| literal(&literals, *l)));
            outputs.push(self.outputs.iter().map(|l| literal(&literals, *l)).collect::<Vec<_>>());
        }
        next.push(1);
        let mut same = 1;
        for (a, b) in outputs[0].iter().zip(&outputs[1]) {
            let differ = builder.xor(*a, *b);
            same = builder.and(same, differ ^ 1);
        }
        let compared = if reset.is_some() { running } else { 1 };
        let output = builder.and(same ^ 1, compared);
        Miter { inputs: given, starts: count, next, output, gates: builder.gates }
    }
}

/// The bit of `port` that `name` is.
fn bit_of(port: &str, name: &str) -> Option<u32> {
    let rest = name.strip_prefix(port)?;
    if rest.is_empty() { Some(0) } else { rest.strip_prefix('[')?.strip_suffix(']')?.parse().ok() }
}

/// Two netlists beside each other; all latches start at 0.
#[derive(Clone, Debug)]
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
struct Builder {
    first: u32,
    gates: Vec<[u32; 2]>,
    known: HashMap<[u32; 2], u32>,
}

impl Builder {
    fn new(variables: usize) -> Self {
        Self { first: 2 * (variables as u32 + 1), gates: Vec::new(), known: HashMap::new() }
    }

    fn and(&mut self, a: u32, b: u32) -> u32 {
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

    fn xor(&mut self, a: u32, b: u32) -> u32 {
        self.choose(a, b ^ 1, b)
    }

    fn choose(&mut self, condition: u32, yes: u32, no: u32) -> u32 {
        if yes == no {
            return yes;
        }
        let yes = self.and(condition, yes);
        let no = self.and(condition ^ 1, no);
        self.and(yes ^ 1, no ^ 1) ^ 1
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
        assert_eq!(netlist.inputs, ["a_i", "s"]);
        assert_eq!(
            (&netlist.latches[..], &netlist.outputs[..], &netlist.gates[..]),
            (&[8][..], &[6][..], &[[2, 4]][..])
        );
        for bad in [
            "",
            "aig 1 1 0 0 0\n2\n",
            "aag 1 1 0 1 0\n2\n",
            "aag 1 1 0 1 0\n2\n9\n",
            "aag 2 1 0 0 1\n2\n4 4 2\n",
        ] {
            assert!(Aiger::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn copies_with_the_same_choice_have_nothing_to_compare_but_their_latches() {
        let netlist = Aiger::parse(NETLIST).unwrap();
        let same = netlist.miter("s", 0, None, &BTreeMap::new());
        // Two latches that both take 0: no equation says so, and ABC has to find it.
        assert!(!same.is_trivial());
        assert_eq!(same.next, [0, 0, 1]);
        let mutant = netlist.miter("s", 1, None, &BTreeMap::new());
        assert_eq!(mutant.inputs, ["a_i"]);
        assert_eq!(mutant.next, [0, 2, 1]);
        assert!(mutant.binary().starts_with(b"aig "));
        let held = netlist.miter("s", 1, None, &BTreeMap::from([("a_i".to_string(), true)]));
        assert_eq!(held.next, [0, 1, 1]);
    }
}
