//! Do two copies of a netlist, which are told apart by an input, ever give other outputs? An induction over what their registers have in common.
//!
//! After the first clock edge in reset both copies hold the same: registers without reset any value. A *relation* says of each register under which conditions both still hold the same in it: at first always.
//! A solver is asked for a step that breaks it: a state in which it holds, and what is known of the first copy, that leads to one in which it does not.
//! Where there is such a step the relation is made weaker by what broke: a register that may differ now is known to be the same only while
//! other registers have a value that they had not after the step: "the payload is the same while the entry is used". Where no step breaks
//! it any more, it holds for ever; and as long as it holds, no output differs.
//!
//! Of each wide word the relation says, beside its bits, whether both copies have the same answer to "is it zero?". So a count whose upper bits are
//! wrong is still known to be no less far from its end.

use super::ProveError;
use super::smt::{Answer, Installed, Solver};
use crate::mutate::aiger::{Aiger, Builder, bit_of};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// So often conditions of a group are given up before all of them are. A step mostly leaves half of those that do not hold.
const PATIENCE: usize = 30;

/// Bits of a word, at most, whose value may be a condition: what says which entry is used, not what is in it.
const NARROW: usize = 8;

/// A netlist whose copies are compared, and what is known of the first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting<'a> {
    pub netlist: &'a Aiger,
    /// The input that tells the copies apart. It is 0 in the first.
    pub select: &'a str,
    /// The input that resets, if there is one.
    pub reset: Option<&'a str>,
    /// Whether a register is high from the first reset on, by its name.
    pub begun: fn(&str) -> bool,
    /// The output that is not compared; where it is asked for, nothing counts from the cycle on in which it is false in the first copy.
    pub near: &'a str,
}

/// Under which conditions a group of registers is the same in both copies.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Same {
    Always,
    /// While one of these is true in the first copy, by their place in the list of conditions. While none: they may hold anything.
    While(Vec<usize>),
}

/// What may be true of the first copy before a step, and after it: literals of the builder.
type Condition = [u32; 2];

/// A solver that was told what is known of the first copy. It answers for one second copy after the other.
pub(super) struct Comparer {
    solver: Solver,
    builder: Builder,
    /// Which variables and gates the solver has heard of.
    told: Vec<bool>,
    /// Each literal of the netlist in the first copy.
    now: Vec<u32>,
    /// What is known.
    known: u32,
    /// Whether the output [`Setting::near`] is true.
    near: u32,
}

/// What of a step is not as the relation says: literals of the builder.
struct Breaks {
    /// An output that differs.
    outputs: u32,
    /// By group, those of wide words after those of registers.
    groups: BTreeMap<usize, u32>,
    /// What the relation says of wide words before the step.
    words: u32,
}

impl Comparer {
    /// Starts `solver`, for `limit` a question.
    pub fn start(setting: &Setting<'_>, solver: &Installed, limit: Duration) -> Result<Self, ProveError> {
        let netlist = setting.netlist;
        let (inputs, latches) = (netlist.inputs.len(), netlist.latches.len());
        let mut solver = Solver::start(solver, limit)?;
        solver.tell("(set-logic QF_UFBV)")?;
        // The inputs, the first copy's registers, those of the second where they are not the same; other inputs.
        let mut builder = Builder::new(2 * inputs + 2 * latches);
        let mut now = vec![0];
        now.extend(setting.given(0));
        now.extend((0..latches).map(|i| match (setting.begun)(&netlist.latch_names[i]) {
            true => 1,
            false => variable(inputs + i),
        }));
        copy(netlist, &mut builder, &mut now);
        let keeps = |builder: &mut Builder, literals: &[u32]| {
            let bad = netlist.bad.iter().map(|bad| literal(literals, *bad) ^ 1);
            let constraints = netlist.constraints.iter().map(|constraint| literal(literals, *constraint));
            bad.chain(constraints).fold(1, |all, l| builder.and(all, l))
        };
        let mut known = keeps(&mut builder, &now);
        // What is asserted of registers says nothing in a cycle of reset. But whatever is in them then could go on with other inputs, legal ones,
        // and without a reset.
        if setting.reset.is_some() && !netlist.bad.is_empty() {
            let other = |(i, name): (usize, &String)| match bit_of(setting.select, name) {
                Some(_) => 0,
                None if setting.reset == Some(name.as_str()) => 1,
                None => variable(inputs + 2 * latches + i),
            };
            let mut instead = vec![0];
            instead.extend(netlist.inputs.iter().enumerate().map(other));
            instead.extend(&now[1 + inputs..=inputs + latches]);
            copy(netlist, &mut builder, &mut instead);
            let keeps = keeps(&mut builder, &instead);
            known = builder.and(known, keeps);
        }
        let near = netlist.output_names.iter().position(|name| name == setting.near);
        let near = near.map_or(1, |output| literal(&now, netlist.outputs[output]));
        Ok(Self { solver, builder, told: Vec::new(), now, known, near })
    }

    /// Whether what is known is possible at all.
    pub fn is_possible(&mut self) -> Result<bool, ProveError> {
        Ok(self.ask(&[self.near], self.known)?.0 == Answer::Sat)
    }

    /// Whether no output of the second copy, in which the choice is `id`, ever differs; if `near`, as long as that is true. False says nothing:
    /// perhaps there was no time, perhaps the relation would have to be another one.
    pub fn never_parts(
        &mut self,
        setting: &Setting<'_>,
        id: u32,
        near: bool,
        limit: Duration,
    ) -> Result<bool, ProveError> {
        // More than anybody waits can be added to the time.
        let end = Instant::now() + limit.min(Duration::from_secs(1 << 30));
        // Words need fewer steps; where one is the same but for a bit, bits find more.
        Ok(self.induct(setting, id, near, &setting.groups(true), end)?
            || self.induct(setting, id, near, &setting.groups(false), end)?)
    }

    /// The same for a relation of these groups of registers.
    fn induct(
        &mut self,
        setting: &Setting<'_>,
        id: u32,
        near: bool,
        groups: &[Option<usize>],
        end: Instant,
    ) -> Result<bool, ProveError> {
        let wide = setting.wide(groups);
        let of_registers = groups.iter().flatten().max().map_or(0, |most| most + 1);
        let mut relation = vec![Same::Always; of_registers + wide.len()];
        let mut patience = vec![PATIENCE; relation.len()];
        let conditions = self.conditions(setting, &wide);
        let known = if near { self.builder.and(self.known, self.near) } else { self.known };
        while Instant::now() < end {
            let breaks = self.step(setting, id, groups, &wide, &conditions, &relation);
            let wrong: Vec<u32> = breaks.groups.values().copied().chain([breaks.outputs]).collect();
            let known = self.builder.and(known, breaks.words);
            let values = match self.ask(&wrong, known)? {
                (Answer::Unsat, _) => return Ok(true),
                (Answer::Sat, Some(values)) => values,
                _ => return Ok(false),
            };
            if holds(&values, breaks.outputs) {
                return Ok(false);
            }
            for (group, _) in breaks.groups.iter().filter(|(_, breaks)| holds(&values, **breaks)) {
                let false_then = |i: &usize| !holds(&values, conditions[*i][1]);
                patience[*group] = patience[*group].saturating_sub(1);
                match &mut relation[*group] {
                    same if patience[*group] == 0 => *same = Same::While(Vec::new()),
                    Same::While(some) => some.retain(false_then),
                    always => *always = Same::While((0..conditions.len()).filter(false_then).collect()),
                }
            }
        }
        Ok(false)
    }

    /// One step of both copies from a state in which the relation holds.
    fn step(
        &mut self,
        setting: &Setting<'_>,
        id: u32,
        groups: &[Option<usize>],
        wide: &[Vec<usize>],
        conditions: &[Condition],
        relation: &[Same],
    ) -> Breaks {
        let netlist = setting.netlist;
        let (inputs, latches) = (netlist.inputs.len(), netlist.latches.len());
        let Self { builder, now, .. } = self;
        // Whether a group is the same before the step, and has to be after it.
        let mut same = Vec::new();
        for group in relation {
            same.push(match group {
                Same::Always => [1, 1],
                Same::While(some) => {
                    [0, 1].map(|at| some.iter().fold(0, |any, i| builder.or(any, conditions[*i][at])))
                }
            });
        }
        let mut other = vec![0];
        other.extend(setting.given(id));
        for (i, group) in groups.iter().enumerate() {
            let (first, second) = (now[1 + inputs + i], variable(inputs + latches + i));
            other.push(group.map_or(first, |group| builder.choose(same[group][0], first, second)));
        }
        copy(netlist, builder, &mut other);
        let mut outputs = 0;
        for (output, name) in netlist.outputs.iter().zip(&netlist.output_names) {
            if name != setting.near {
                let differ = builder.xor(literal(now, *output), literal(&other, *output));
                outputs = builder.or(outputs, differ);
            }
        }
        let mut differ = BTreeMap::new();
        for ((next, _), group) in netlist.latches.iter().zip(groups) {
            let Some(group) = group else { continue };
            let differs = builder.xor(literal(now, *next), literal(&other, *next));
            let any = differ.get(group).copied().unwrap_or(0);
            differ.insert(*group, builder.or(any, differs));
        }
        let mut words = 1;
        for (word, group) in wide.iter().zip(relation.len() - wide.len()..) {
            let [before, after] = [now as &[u32], &other].map(|copy| setting.any_of(builder, word, copy));
            let [differs, will_differ] = [0, 1].map(|at| builder.xor(before[at], after[at]));
            let breaks = builder.and(same[group][0], differs);
            words = builder.and(words, breaks ^ 1);
            differ.insert(group, will_differ);
        }
        let groups = differ.into_iter().map(|(group, differs)| (group, builder.and(same[group][1], differs)));
        Breaks { outputs, groups: groups.collect(), words }
    }

    /// What may be a condition: values of the registers of narrow words, and whether wide words are zero.
    fn conditions(&mut self, setting: &Setting<'_>, wide: &[Vec<usize>]) -> Vec<Condition> {
        let Self { builder, now, .. } = self;
        let narrow = setting.narrow().into_iter().map(|latch| setting.register(latch, now));
        let mut conditions: Vec<Condition> = narrow.collect();
        conditions.extend(wide.iter().map(|word| setting.any_of(builder, word, now)));
        conditions
            .into_iter()
            .flat_map(|[before, after]| [[before, after], [before ^ 1, after ^ 1]])
            .collect()
    }

    /// Whether one of these can be while `known` is; if so, the value of each variable and gate.
    fn ask(&mut self, one_of: &[u32], known: u32) -> Result<(Answer, Option<Vec<bool>>), ProveError> {
        let one_of: Vec<u32> = one_of.iter().copied().filter(|l| *l != 0).collect();
        if one_of.is_empty() || known == 0 {
            return Ok((Answer::Unsat, None));
        }
        let first_gate = self.builder.first as usize / 2;
        let all = first_gate + self.builder.gates.len();
        self.told.resize(all, false);
        // What it has not heard of, those that others are made of first.
        let mut needed = vec![false; all];
        one_of.iter().chain([&known]).for_each(|l| needed[*l as usize / 2] = true);
        for gate in (first_gate..all).rev() {
            if needed[gate] && !self.told[gate] {
                self.builder.gates[gate - first_gate].iter().for_each(|l| needed[*l as usize / 2] = true);
            }
        }
        let mut text = String::new();
        for v in (1..all).filter(|v| needed[*v]) {
            if std::mem::replace(&mut self.told[v], true) {
                continue;
            }
            // Writing to a String cannot fail. Clauses, which a solver keeps from one question to the next.
            let _ = writeln!(text, "(declare-fun v{v} () Bool)");
            if let Some(gate) = v.checked_sub(first_gate) {
                let [a, b] = self.builder.gates[gate];
                let _ = writeln!(
                    text,
                    "(assert (or (not v{v}) {}))(assert (or (not v{v}) {}))(assert (or v{v} {} {}))",
                    name(a),
                    name(b),
                    name(a ^ 1),
                    name(b ^ 1)
                );
            }
        }
        if !text.is_empty() {
            self.solver.tell(&text)?;
        }
        let one_of: Vec<String> = one_of.into_iter().map(name).collect();
        let (told, builder) = (&self.told, &self.builder);
        self.solver.ask(&format!("(and {} (or false {}))", name(known), one_of.join(" ")), |solver| {
            // All at once: a message each takes longer than the question where the processor is busy.
            let variables: Vec<usize> = (1..first_gate).filter(|v| told[*v]).collect();
            let bits: Vec<String> = variables.iter().map(|v| format!("(ite v{v} #b1 #b0)")).collect();
            let digits = solver.value(&format!("(concat #b0 {})", bits.join(" ")))?;
            let mut values = vec![false; all];
            for (v, digit) in variables.iter().rev().zip(digits.bytes().rev()) {
                values[*v] = digit == b'1';
            }
            for (i, [a, b]) in builder.gates.iter().enumerate() {
                values[first_gate + i] = holds(&values, *a) && holds(&values, *b);
            }
            Ok(values)
        })
    }
}

impl Setting<'_> {
    /// The inputs of the copy in which the choice is `id`.
    fn given(&self, id: u32) -> Vec<u32> {
        let literal = |(i, name): (usize, &String)| match bit_of(self.select, name) {
            Some(bit) => id >> bit & 1,
            None => variable(i),
        };
        self.netlist.inputs.iter().enumerate().map(literal).collect()
    }

    /// The group of each register, all bits of a word or each by itself; `None` for those that no output that is compared depends on.
    fn groups(&self, of_words: bool) -> Vec<Option<usize>> {
        let netlist = self.netlist;
        let first_gate = 1 + netlist.inputs.len() + netlist.latches.len();
        let mut seen = vec![false; first_gate + netlist.gates.len()];
        let outputs = netlist.outputs.iter().zip(&netlist.output_names);
        let compared = outputs.filter(|(_, name)| *name != self.near);
        let mut left: Vec<usize> = compared.map(|(literal, _)| *literal as usize / 2).collect();
        while let Some(variable) = left.pop() {
            if std::mem::replace(&mut seen[variable], true) {
                continue;
            }
            if let Some(gate) = variable.checked_sub(first_gate) {
                left.extend(netlist.gates[gate].map(|literal| literal as usize / 2));
            } else if let Some(latch) = variable.checked_sub(1 + netlist.inputs.len()) {
                left.push(netlist.latches[latch].0 as usize / 2);
            }
        }
        let mut words = BTreeMap::new();
        let group = |(latch, name): (usize, &String)| {
            seen[1 + netlist.inputs.len() + latch].then(|| {
                let next = words.len();
                let word = if of_words { word(latch, name) } else { word(latch, "") };
                *words.entry(word).or_insert(next)
            })
        };
        netlist.latch_names.iter().enumerate().map(group).collect()
    }

    /// The registers of narrow words.
    fn narrow(&self) -> Vec<usize> {
        self.words().into_values().filter(|word| word.len() <= NARROW).flatten().collect()
    }

    /// The registers of each wide word, without those that have no group.
    fn wide(&self, groups: &[Option<usize>]) -> Vec<Vec<usize>> {
        let wide = self.words().into_values().filter(|word| word.len() > NARROW);
        let seen = |word: Vec<usize>| word.into_iter().filter(|latch| groups[*latch].is_some()).collect();
        wide.map(seen).collect()
    }

    /// The registers of each word.
    fn words(&self) -> BTreeMap<String, Vec<usize>> {
        let mut words: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (latch, name) in self.netlist.latch_names.iter().enumerate() {
            words.entry(word(latch, name)).or_default().push(latch);
        }
        words
    }

    /// A register before a step and after it, in the copy whose literals these are.
    fn register(&self, latch: usize, literals: &[u32]) -> [u32; 2] {
        let next = self.netlist.latches[latch].0;
        [literals[1 + self.netlist.inputs.len() + latch], literal(literals, next)]
    }

    /// Whether one of these registers is high, before a step and after it.
    fn any_of(&self, builder: &mut Builder, word: &[usize], literals: &[u32]) -> [u32; 2] {
        word.iter().map(|latch| self.register(*latch, literals)).fold([0, 0], |[before, after], register| {
            [builder.or(before, register[0]), builder.or(after, register[1])]
        })
    }
}

/// The word that a register is a bit of; what has no name is by itself.
fn word(latch: usize, name: &str) -> String {
    match name.rsplit_once('[') {
        Some((word, _)) if name.ends_with(']') => word.to_string(),
        _ if name.is_empty() => format!("[{latch}"),
        _ => name.to_string(),
    }
}

/// Makes the gates of a copy whose inputs and registers are there.
fn copy(netlist: &Aiger, builder: &mut Builder, literals: &mut Vec<u32>) {
    for [a, b] in &netlist.gates {
        let gate = builder.and(literal(literals, *a), literal(literals, *b));
        literals.push(gate);
    }
}

fn variable(index: usize) -> u32 {
    2 * (index as u32 + 1)
}

fn literal(literals: &[u32], l: u32) -> u32 {
    literals[l as usize / 2] ^ (l & 1)
}

/// The value of a literal.
fn holds(values: &[bool], literal: u32) -> bool {
    values[literal as usize / 2] != (literal & 1 == 1)
}

/// A literal as the solver knows it.
fn name(literal: u32) -> String {
    match literal {
        0 => "false".to_string(),
        1 => "true".to_string(),
        _ if literal & 1 == 1 => format!("(not v{})", literal / 2),
        _ => format!("v{}", literal / 2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prove::SolverKind;

    /// A payload `p` that takes `a`, and the wrong thing where `s` is one and `load` is not; `v`, which takes `load`; an output.
    fn netlist(output: u32, constraint: u32) -> Aiger {
        let text = format!(
            "aag 10 3 2 1 5 0 1\n2\n4\n6\n8 19 8\n10 4 0\n{output}\n{constraint}\n12 6 5\n14 13 2\n16 12 3\n18 17 15\n20 10 8\n\
             i0 a\ni1 load\ni2 s\nl0 p\nl1 v\no0 o\n"
        );
        Aiger::parse(&text).unwrap_or_else(|e| panic!("{e}"))
    }

    const LIMIT: Duration = Duration::from_secs(60);

    /// Whether anything is possible, and whether the second copy never parts from the first.
    fn compared(netlist: &Aiger) -> [bool; 2] {
        let setting = Setting { netlist, select: "s", reset: None, begun: |_| false, near: "" };
        let solver = Installed::find(SolverKind::Yices).unwrap_or_else(|e| panic!("{e}"));
        let mut comparer = Comparer::start(&setting, &solver, LIMIT).unwrap_or_else(|e| panic!("{e}"));
        let possible = comparer.is_possible().unwrap_or_else(|e| panic!("{e}"));
        [possible, comparer.never_parts(&setting, 1, false, LIMIT).unwrap_or_else(|e| panic!("{e}"))]
    }

    #[test]
    fn what_is_wrong_only_where_nobody_looks_never_shows() {
        // `v & p`: p is the same while v.
        assert_eq!(compared(&netlist(20, 1)), [true, true]);
        // p itself.
        assert_eq!(compared(&netlist(8, 1)), [true, false]);
    }

    /// A word of so many bits that takes an input; where `s` is one, the lowest bit is wrong if the bit `control` is taken.
    /// Its output is whether the word is zero, or its lowest bit.
    fn word(bits: u32, control: u32, of_lowest: bool) -> Aiger {
        // Inputs: the word's bits, then `s`. Then the latches.
        let select = 2 * (bits + 1);
        let latch = |i: u32| select + 2 * (1 + i);
        let first = latch(bits);
        // The lowest bit, changed: not (g1 or g2).
        let mut gates = vec![[select, 2 * (1 + control)], [first, 3], [first ^ 1, 2], [first + 3, first + 5]];
        let next = first + 7;
        let mut zero = 1;
        for i in 0..bits {
            gates.push([zero, latch(i) ^ 1]);
            zero = first + 2 * (gates.len() as u32 - 1);
        }
        let count = gates.len() as u32;
        let mut text = format!("aag {} {} {bits} 1 {count} 0 1\n", 1 + 2 * bits + count, bits + 1);
        (1..=bits + 1).for_each(|i| text += &format!("{}\n", 2 * i));
        for i in 0..bits {
            text += &format!("{} {} {}\n", latch(i), if i == 0 { next } else { 2 * (1 + i) }, latch(i));
        }
        text += &format!("{}\n1\n", if of_lowest { latch(0) } else { zero });
        for (i, [a, b]) in gates.iter().enumerate() {
            text += &format!("{} {} {}\n", first + 2 * i as u32, a.max(b), a.min(b));
        }
        text += &format!("i{bits} s\no0 o\n");
        (0..bits).for_each(|i| text += &format!("l{i} w[{i}]\n"));
        Aiger::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"))
    }

    #[test]
    fn a_wide_word_is_known_to_be_zero_in_both_or_in_none() {
        // Where the lowest bit is wrong, another one is high.
        assert_eq!(compared(&word(12, 1, false)), [true, true]);
        assert_eq!(compared(&word(12, 1, true)), [true, false]);
        // Its own value decides: it is low where it was high.
        assert_eq!(compared(&word(12, 0, false)), [true, false]);
    }

    #[test]
    fn what_is_known_of_the_first_copy_counts() {
        // It always loads; or nothing is possible.
        assert_eq!(compared(&netlist(8, 4)), [true, true]);
        assert_eq!(compared(&netlist(8, 0)), [false, true]);
    }
}
