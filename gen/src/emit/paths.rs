//! Which outputs of a module depend on which of its inputs in the same cycle: a walk over its logic, bit by bit, into its sub-blocks and
//! back. A register ends it.
//!
//! What counts is whether gates lead from one to the other, after what constants decide within an expression; whether the values there
//! can ever make a difference is not asked. So it is what a synthesis tool finds that traces cones.

use super::ir::{Expr, Logic, Stmt};
use super::lower::{Class, Lowered};
use super::tree::Node;
use rust_hdl::core::atom::AtomKind;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use windlass_rtl::port::CLOCK;

/// Of each output of a module, by key, and each of its bits: the bits of inputs that it depends on.
#[derive(Clone, Debug, Default)]
pub struct Paths(BTreeMap<String, Vec<Vec<(String, u32)>>>);

impl Paths {
    /// Of each output, the inputs that it depends on, by the names that `name` gives them.
    pub fn ports(&self, name: impl Fn(&str) -> String) -> BTreeMap<String, Vec<String>> {
        let inputs = |bits: &Vec<Vec<(String, u32)>>| {
            let inputs: BTreeSet<&str> = bits.iter().flatten().map(|(input, _)| input.as_str()).collect();
            inputs.into_iter().map(&name).collect()
        };
        self.0.iter().map(|(output, bits)| (name(output), inputs(bits))).collect()
    }
}

/// A bit of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bit {
    Constant(bool),
    /// What it depends on.
    On(usize),
}

const ZERO: Bit = Bit::Constant(false);
const ONE: Bit = Bit::Constant(true);

/// What signals hold at some point of a process.
type Values = HashMap<String, Vec<Bit>>;

/// The paths of a module, of whose sub-blocks `below` has them by module.
pub fn paths(node: &Node, lowered: &Lowered, below: &BTreeMap<String, Paths>) -> Paths {
    let mut graph = Graph::default();
    for (key, symbol) in &lowered.symbols {
        if !matches!(symbol.class, Class::Constant(_)) {
            let bits = (0..symbol.width).map(|_| graph.node(Vec::new())).collect();
            graph.signals.insert(key.clone(), bits);
        }
    }
    // Of a block that brings its own text nothing is known: all inputs but the clock.
    if lowered.custom.is_some() {
        let of = |class: &Class| {
            let signals = lowered.symbols.iter().filter(|(key, s)| s.class == *class && *key != CLOCK);
            signals.flat_map(|(key, _)| graph.signals[key].clone()).collect::<Vec<_>>()
        };
        let (inputs, outputs) = (of(&Class::Input), of(&Class::Output));
        outputs.into_iter().for_each(|output| graph.from[output].clone_from(&inputs));
    }
    for logic in &lowered.logic {
        match logic {
            Logic::Comment(_) => {}
            Logic::Assign(target, value) => {
                let value = graph.value(value, &Values::new());
                graph.drive(target, &value);
            }
            Logic::Process(_, stmts) => {
                let mut values = Values::new();
                graph.run(stmts, &mut values);
                values.iter().for_each(|(target, value)| graph.drive(target, value));
            }
        }
    }
    for (name, child) in node.children.iter().filter(|(_, child)| !child.is_register()) {
        for (output, bits) in &below[&child.info.module].0 {
            for (bit, inputs) in bits.iter().enumerate() {
                let driven = graph.signals[&format!("{name}.{output}")][bit];
                graph.from[driven] = inputs
                    .iter()
                    .map(|(key, bit)| graph.signals[&format!("{name}.{key}")][*bit as usize])
                    .collect();
            }
        }
    }
    let mut inputs = Vec::new();
    for atom in node.atoms.iter().filter(|atom| atom.kind == AtomKind::InputParameter) {
        for (bit, node) in graph.signals[&atom.key].iter().enumerate() {
            inputs.push((*node, (atom.key.clone(), bit as u32)));
        }
    }
    let reach = graph.reach(&inputs);
    let named = |node: &usize| reach[*node].members().map(|input| inputs[input].1.clone()).collect();
    let outputs = node.atoms.iter().filter(|atom| atom.kind == AtomKind::OutputParameter);
    Paths(outputs.map(|o| (o.key.clone(), graph.signals[&o.key].iter().map(named).collect())).collect())
}

/// The bits of a module, and those that each depends on directly.
#[derive(Default)]
struct Graph {
    from: Vec<Vec<usize>>,
    /// The bits of each signal, the lowest first.
    signals: HashMap<String, Vec<usize>>,
}

impl Graph {
    fn node(&mut self, from: Vec<usize>) -> usize {
        self.from.push(from);
        self.from.len() - 1
    }

    /// What depends on these.
    fn on(&mut self, bits: impl IntoIterator<Item = Bit>) -> Bit {
        let nodes =
            bits.into_iter().filter_map(|bit| if let Bit::On(node) = bit { Some(node) } else { None });
        let mut nodes: Vec<usize> = nodes.collect();
        nodes.sort_unstable();
        nodes.dedup();
        match nodes[..] {
            [] => ZERO,
            [node] => Bit::On(node),
            _ => Bit::On(self.node(nodes)),
        }
    }

    fn drive(&mut self, target: &str, value: &[Bit]) {
        for (bit, value) in value.iter().enumerate() {
            if let Bit::On(node) = *value {
                let driven = self.signals[target][bit];
                self.from[driven].push(node);
            }
        }
    }

    fn read(&self, key: &str, values: &Values) -> Vec<Bit> {
        let whole = || self.signals[key].iter().map(|node| Bit::On(*node)).collect();
        values.get(key).cloned().unwrap_or_else(whole)
    }

    // ---- expressions

    fn and(&mut self, a: Bit, b: Bit) -> Bit {
        match (a, b) {
            (ZERO, _) | (_, ZERO) => ZERO,
            (ONE, x) | (x, ONE) => x,
            _ => self.on([a, b]),
        }
    }

    fn or(&mut self, a: Bit, b: Bit) -> Bit {
        match (a, b) {
            (ONE, _) | (_, ONE) => ONE,
            (ZERO, x) | (x, ZERO) => x,
            _ => self.on([a, b]),
        }
    }

    fn xor(&mut self, a: Bit, b: Bit) -> Bit {
        match (a, b) {
            (Bit::Constant(a), Bit::Constant(b)) => Bit::Constant(a != b),
            _ => self.on([a, b]),
        }
    }

    fn mux(&mut self, test: Bit, then: Bit, otherwise: Bit) -> Bit {
        match test {
            ONE => then,
            ZERO => otherwise,
            _ if then == otherwise => then,
            _ => match (then, otherwise) {
                (Bit::Constant(_), Bit::Constant(_)) => test,
                _ => self.on([test, then, otherwise]),
            },
        }
    }

    fn not(bit: Bit) -> Bit {
        if let Bit::Constant(value) = bit { Bit::Constant(!value) } else { bit }
    }

    /// The sum, without what is carried out of it.
    fn sum(&mut self, a: &[Bit], b: &[Bit], mut carry: Bit) -> Vec<Bit> {
        let mut sum = Vec::new();
        for (a, b) in a.iter().zip(b) {
            let half = self.xor(*a, *b);
            sum.push(self.xor(half, carry));
            let (both, through) = (self.and(*a, *b), self.and(half, carry));
            carry = self.or(both, through);
        }
        sum
    }

    /// `a` by `by` places, towards the higher bits or the lower ones.
    fn shifted(&mut self, up: bool, a: &[Bit], by: &[Bit]) -> Vec<Bit> {
        let mut value = a.to_vec();
        for (stage, bit) in by.iter().enumerate() {
            let places = 1usize.checked_shl(stage as u32).unwrap_or(usize::MAX);
            let moved = |i: usize| {
                let at = if up { i.checked_sub(places) } else { i.checked_add(places) };
                at.and_then(|at| value.get(at)).copied().unwrap_or(ZERO)
            };
            let moved: Vec<Bit> = (0..value.len()).map(moved).collect();
            value = value.iter().zip(moved).map(|(stays, moved)| self.mux(*bit, moved, *stays)).collect();
        }
        value
    }

    fn any(&mut self, bits: &[Bit]) -> Bit {
        if bits.contains(&ONE) { ONE } else { self.on(bits.iter().copied()) }
    }

    /// The bits of an expression, the lowest first.
    fn value(&mut self, expr: &Expr, values: &Values) -> Vec<Bit> {
        match expr {
            Expr::Literal(width, digits) => {
                let mut bits: Vec<Bit> = digits
                    .chars()
                    .rev()
                    .flat_map(|digit| {
                        let digit = digit.to_digit(16).unwrap_or(0);
                        (0..4).map(move |bit| Bit::Constant(digit >> bit & 1 == 1))
                    })
                    .collect();
                bits.resize(*width as usize, ZERO);
                bits
            }
            Expr::Signal(key, _) => self.read(key, values),
            Expr::Slice(key, lo, width, _) => {
                let (lo, width) = (*lo as usize, *width as usize);
                self.read(key, values)[lo..lo + width].to_vec()
            }
            Expr::Bit(key, index) => {
                let (of, index) = (self.read(key, values), self.value(index, values));
                vec![self.shifted(false, &of, &index)[0]]
            }
            Expr::Concat(parts) => parts.iter().rev().flat_map(|part| self.value(part, values)).collect(),
            Expr::Not(a) => self.value(a, values).into_iter().map(Self::not).collect(),
            Expr::Reduce(op, a) => {
                let bits = self.value(a, values);
                vec![match *op {
                    "|" => self.any(&bits),
                    "&" if bits.contains(&ZERO) => ZERO,
                    _ => self.on(bits),
                }]
            }
            Expr::Mux(test, a, b) => {
                let (test, a, b) =
                    (self.value(test, values)[0], self.value(a, values), self.value(b, values));
                a.into_iter().zip(b).map(|(a, b)| self.mux(test, a, b)).collect()
            }
            Expr::Shift(op, a, by) => {
                let (a, by) = (self.value(a, values), self.value(by, values));
                self.shifted(*op == "<<", &a, &by)
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.value(a, values), self.value(b, values));
                let pairs = || a.iter().copied().zip(b.iter().copied());
                match *op {
                    "&" => pairs().map(|(a, b)| self.and(a, b)).collect(),
                    "|" => pairs().map(|(a, b)| self.or(a, b)).collect(),
                    "^" => pairs().map(|(a, b)| self.xor(a, b)).collect(),
                    "+" => self.sum(&a, &b, ZERO),
                    _ => {
                        let b: Vec<Bit> = b.into_iter().map(Self::not).collect();
                        self.sum(&a, &b, ONE)
                    }
                }
            }
            Expr::Test(op, a, b) => {
                let (a, b) = (self.value(a, values), self.value(b, values));
                vec![match *op {
                    "&&" | "||" => {
                        let (a, b) = (self.any(&a), self.any(&b));
                        if *op == "&&" { self.and(a, b) } else { self.or(a, b) }
                    }
                    _ => self.on(a.into_iter().chain(b)),
                }]
            }
        }
    }

    // ---- processes

    fn run(&mut self, stmts: &[Stmt], values: &mut Values) {
        for stmt in stmts {
            match stmt {
                Stmt::Comment(_) => {}
                Stmt::Assign(target, value) => {
                    let value = self.value(value, values);
                    values.insert(target.clone(), value);
                }
                Stmt::SetBit(target, bit, value) => {
                    let value = self.value(value, values)[0];
                    let mut whole = self.read(target, values);
                    whole[*bit as usize] = value;
                    values.insert(target.clone(), whole);
                }
                Stmt::If(test, then, otherwise) => {
                    let test = self.value(test, values)[0];
                    let (mut taken, mut other) = (values.clone(), values.clone());
                    self.run(then, &mut taken);
                    self.run(otherwise, &mut other);
                    *values = self.merge(test, taken, other);
                }
                Stmt::Case(test, cases, default) => {
                    let test = self.value(test, values);
                    let mut merged = values.clone();
                    self.run(default, &mut merged);
                    // As long as it is not decided which one is taken, each depends on the whole test.
                    let which = self.on(test);
                    for (_, block) in cases {
                        let mut taken = values.clone();
                        self.run(block, &mut taken);
                        merged = self.merge(which, taken, merged);
                    }
                    *values = merged;
                }
            }
        }
    }

    /// What signals hold after a condition. What has a value on one side only is not read again.
    fn merge(&mut self, test: Bit, then: Values, mut otherwise: Values) -> Values {
        for (key, then) in then {
            let merged = match otherwise.get(&key) {
                Some(other) if *other == then => continue,
                Some(other) => then.iter().zip(other).map(|(a, b)| self.mux(test, *a, *b)).collect(),
                None => then,
            };
            otherwise.insert(key, merged);
        }
        otherwise
    }

    // ---- the walk

    /// Of each bit, the inputs that it depends on.
    fn reach(&self, inputs: &[(usize, (String, u32))]) -> Vec<Set> {
        let mut reach = vec![Set::default(); self.from.len()];
        for (input, (node, _)) in inputs.iter().enumerate() {
            reach[*node].insert(input);
        }
        // Once is enough, as what a bit depends on comes before it, unless there is a loop.
        let order = self.order();
        loop {
            let mut grew = false;
            for node in &order {
                let mut set = std::mem::take(&mut reach[*node]);
                self.from[*node].iter().for_each(|from| grew |= set.join(&reach[*from]));
                reach[*node] = set;
            }
            if !grew {
                return reach;
            }
        }
    }

    /// All bits, each after those that it depends on.
    fn order(&self) -> Vec<usize> {
        let mut order = Vec::new();
        let mut seen = vec![false; self.from.len()];
        for root in 0..self.from.len() {
            let mut open = vec![(root, 0)];
            while let Some((node, next)) = open.pop() {
                if next == 0 && std::mem::replace(&mut seen[node], true) {
                    continue;
                }
                match self.from[node].get(next) {
                    Some(from) => open.extend([(node, next + 1), (*from, 0)]),
                    None => order.push(node),
                }
            }
        }
        order
    }
}

/// A set of numbers; an empty one takes no room.
#[derive(Clone, Default)]
struct Set(Vec<u64>);

impl Set {
    fn insert(&mut self, number: usize) {
        self.0.resize(self.0.len().max(number / 64 + 1), 0);
        self.0[number / 64] |= 1 << (number % 64);
    }

    /// Adds those of `other`; whether there were new ones.
    fn join(&mut self, other: &Self) -> bool {
        let mut grew = false;
        self.0.resize(self.0.len().max(other.0.len()), 0);
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            grew |= other & !*word != 0;
            *word |= other;
        }
        grew
    }

    fn members(&self) -> impl Iterator<Item = usize> {
        (0..64 * self.0.len()).filter(|number| self.0[number / 64] >> (number % 64) & 1 == 1)
    }
}
