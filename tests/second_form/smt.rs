//! A block as logic for a solver, straight from what rust-hdl says of it.
//!
//! Nothing of the emitter is used: other code reads the same syntax trees, and no Verilog is written. A signal is an unknown, and
//! what an `update` leaves in it an equation, whatever the order in which blocks and updates run: rust-hdl's simulator repeats
//! them until nothing changes. Within an `update` a read gives what was assigned last. Widths are those of rust-hdl's types.

use rust_hdl::core::ast::{
    VerilogBlock, VerilogBlockOrConditional, VerilogExpression, VerilogOp, VerilogOpUnary, VerilogStatement,
};
use rust_hdl::core::atom::{Atom, AtomKind};
use rust_hdl::prelude::{Block, Probe, TypeKind, Verilog};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use windlass_rtl::info::{Form, Info};
use windlass_rtl::port::indexed;

/// One module: what the solver is told, and what the other form must agree with. Sub-blocks are not looked into: what they give
/// is free, what they are given is compared. Names are those of the flattened Verilog.
#[derive(Default)]
pub struct Logic {
    /// The module.
    pub module: String,
    /// Name and module of each sub-block.
    pub instances: Vec<(String, String)>,
    /// Declarations and equations, SMT-LIB 2.
    pub text: String,
    /// Inputs, and outputs of sub-blocks: name, unknown, width.
    pub inputs: Vec<(String, String, u32)>,
    /// Outputs.
    pub outputs: Vec<(String, String, u32)>,
    /// All that the update assigns, in its order; inputs of sub-blocks among it.
    pub locals: Vec<(String, String, u32)>,
    /// Registers.
    pub registers: Vec<RegisterLogic>,
}

/// A register.
pub struct RegisterLogic {
    /// Name, unknown of the present value, width.
    pub now: (String, String, u32),
    /// Unknown of the next value.
    pub next: String,
}

/// A signal of a block.
struct Signal {
    kind: AtomKind,
    width: u32,
    /// Binary digits of a constant.
    value: String,
    variants: Vec<String>,
}

/// A block as the probe saw it.
#[derive(Default)]
struct Node {
    module: String,
    register: bool,
    params: BTreeMap<String, usize>,
    signals: BTreeMap<String, Signal>,
    children: Vec<(String, Node)>,
    hdl: Verilog,
}

#[derive(Default)]
struct Reader {
    open: Vec<(String, Node)>,
    root: Option<Node>,
}

/// `rows$3` is `rows_3`, and `slot_i$2` is `slot_2_i`: the name in the Verilog serves as the name here.
fn name(text: &str) -> String {
    match text.rsplit_once('$') {
        Some((stem, index)) => indexed(&name(stem), index.parse().expect("an index")),
        None => text.to_string(),
    }
}

impl Probe for Reader {
    fn visit_start_scope(&mut self, text: &str, block: &dyn Block) {
        self.open.push((name(text), Node { hdl: block.hdl(), ..Node::default() }));
    }

    fn visit_atom(&mut self, text: &str, atom: &dyn Atom) {
        let (_, node) = self.open.last_mut().expect("a block around the signal");
        if let Some(info) = Info::read(atom) {
            node.register = info.form == Form::Register;
            node.module = info.module;
            node.params = info.params.into_iter().collect();
            return;
        }
        let (width, digits) = (atom.bits() as u32, format!("{:x}", atom.verilog()));
        let digits = digits.split_once("'h").expect("digits").1;
        let bits: String =
            digits.chars().map(|c| format!("{:04b}", c.to_digit(16).expect("a digit"))).collect();
        let bits = format!("{:0>1$}", bits, width as usize);
        let variants = match atom.descriptor().kind {
            TypeKind::Enum(names) => names.iter().map(|name| name.replace("::", "$")).collect(),
            _ => Vec::new(),
        };
        let value = bits[bits.len() - width as usize..].to_string();
        node.signals.insert(name(text), Signal { kind: atom.kind(), width, value, variants });
    }

    fn visit_end_scope(&mut self, _: &str, _: &dyn Block) {
        let (name, node) = self.open.pop().expect("an open block");
        match self.open.last_mut() {
            Some((_, parent)) => parent.children.push((name, node)),
            None => self.root = Some(node),
        }
    }
}

/// The logic of `block`, which must be connected, and of all that it contains: every module once, by its name.
pub fn logic(block: &dyn Block) -> Vec<Logic> {
    let mut reader = Reader::default();
    block.accept("top", &mut reader);
    let mut modules = BTreeMap::new();
    collect(&reader.root.expect("a block"), &mut modules);
    modules.into_values().collect()
}

fn collect(node: &Node, modules: &mut BTreeMap<String, Logic>) {
    if node.register || modules.contains_key(&node.module) {
        return;
    }
    modules.insert(node.module.clone(), Logic::new(node));
    node.children.iter().for_each(|(_, child)| collect(child, modules));
}

fn unknown(path: &str, name: &str) -> String {
    format!("|{path}{name}|")
}

impl Logic {
    fn say(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn declare(&mut self, unknown: &str, width: u32) {
        self.say(&format!("(declare-fun {unknown} () (_ BitVec {width}))"));
    }

    fn new(node: &Node) -> Self {
        let mut logic = Self { module: node.module.clone(), ..Self::default() };
        logic.signals(node, "");
        for (name, child) in &node.children {
            // Registers are written in their parent.
            let path = if child.register { format!("{name}.") } else { format!("u_{name}.") };
            logic.signals(child, &path);
            if child.register {
                logic.register(child, &path);
            } else {
                logic.instances.push((format!("u_{name}"), child.module.clone()));
            }
        }
        match &node.hdl {
            Verilog::Combinatorial(block) => logic.update(node, block),
            _ if node.module.starts_with("register_file") => logic.register_file(node),
            _ => panic!("{} has no logic that is known here", node.module),
        }
        logic
    }

    /// Declares the signals of a block, or of a sub-block behind `path`.
    fn signals(&mut self, node: &Node, path: &str) {
        for (name, signal) in &node.signals {
            let unknown = unknown(path, name);
            self.declare(&unknown, signal.width);
            if signal.kind == AtomKind::Constant {
                self.say(&format!("(assert (= {unknown} #b{}))", signal.value));
            }
            let port = (format!("{path}{name}"), unknown, signal.width);
            match (path, signal.kind) {
                _ if node.register || name == "clk_i" => {}
                ("", AtomKind::InputParameter) => self.inputs.push(port),
                ("", AtomKind::OutputParameter) => self.outputs.push(port),
                // What sub-blocks are given is among what the update assigns.
                (_, AtomKind::OutputParameter) if !path.is_empty() => self.inputs.push(port),
                _ => {}
            }
        }
    }

    fn register(&mut self, node: &Node, path: &str) {
        let width = node.signals["q_o"].width;
        let (now, next) = (unknown(path, "q_o"), unknown(path, "next"));
        self.declare(&next, width);
        // An enumeration has no other values; zero, which a register starts at, is its first.
        let variants = node.signals["q_o"].variants.len();
        if variants > 0 {
            self.say(&format!("(assert (bvult ((_ zero_extend 1) {now}) (_ bv{variants} {})))", width + 1));
        }
        let d = unknown(path, "d_i");
        let value = if node.signals.contains_key("rst_ni") {
            format!("(ite (= {} #b1) {d} {})", unknown(path, "rst_ni"), zero(width))
        } else {
            d
        };
        self.say(&format!("(assert (= {next} {value}))"));
        let name = format!("{}_q", path.trim_end_matches('.'));
        self.registers.push(RegisterLogic { now: (name, now, width), next });
    }

    /// The one block that brings its own Verilog.
    fn register_file(&mut self, node: &Node) {
        let (width, address) = (node.params["WIDTH"] as u32, node.signals["waddr_i"].width);
        let depth = node.params["DEPTH"];
        if depth < 1 << address {
            // What is read beyond the depth is unknown in Verilog, and nobody may use it: such cycles are left out.
            self.say(&format!("(assert (bvult {} (_ bv{depth} {address})))", unknown("", "raddr_i")));
        }
        let mut read = zero(width);
        for word in 0..depth {
            let (now, next) = (unknown("", &format!("word_{word}")), unknown("", &format!("next_{word}")));
            self.declare(&now, width);
            self.declare(&next, width);
            let at = |port: &str| format!("(= {} (_ bv{word} {address}))", unknown("", port));
            let written = format!("(and (= {} #b1) {})", unknown("", "we_i"), at("waddr_i"));
            self.say(&format!("(assert (= {next} (ite {written} {} {now})))", unknown("", "wdata_i")));
            read = format!("(ite {} {now} {read})", at("raddr_i"));
            self.registers.push(RegisterLogic { now: (format!("words[{word}]"), now, width), next });
        }
        self.say(&format!("(assert (= {} {read}))", unknown("", "rdata_o")));
    }

    fn update(&mut self, node: &Node, block: &VerilogBlock) {
        let mut scope = Scope {
            node,
            loops: Vec::new(),
            variants: BTreeMap::new(),
            order: Vec::new(),
            lets: 0,
            text: String::new(),
        };
        let children = node.children.iter().map(|(_, child)| child);
        for signal in std::iter::once(node).chain(children).flat_map(|node| node.signals.values()) {
            for (value, variant) in signal.variants.iter().enumerate() {
                scope.variants.insert(variant.clone(), (value as u128, signal.width));
            }
        }
        let mut values = Values::new();
        scope.run(block, &mut values);
        let text = std::mem::take(&mut scope.text);
        self.text.push_str(&text);
        for (signal, value) in values {
            self.say(&format!("(assert (= {signal} {value}))"));
        }
        // By where each is assigned last.
        let mut order = scope.order;
        order.reverse();
        let mut seen = BTreeSet::new();
        order.retain(|signal| !signal.0.ends_with("clk_i|") && seen.insert(signal.clone()));
        order.reverse();
        self.locals = order
            .into_iter()
            .map(|signal| (signal.0.trim_matches('|').to_string(), signal.0, signal.1))
            .collect();
    }
}

/// What has been assigned so far: by unknown, a term.
type Values = BTreeMap<String, String>;

/// A term; a plain number takes the width of what is beside it.
enum Term {
    Sized(String, u32),
    Number(u128),
}

impl Term {
    fn sized(self, wanted: u32) -> String {
        match self {
            Self::Sized(text, width) => {
                assert_eq!(width, wanted, "width of {text}");
                text
            }
            Self::Number(value) => format!("(_ bv{value} {wanted})"),
        }
    }

    fn width(&self) -> Option<u32> {
        match self {
            Self::Sized(_, width) => Some(*width),
            Self::Number(_) => None,
        }
    }
}

fn zero(width: u32) -> String {
    format!("(_ bv0 {width})")
}

/// A test as a bit.
fn bit(test: &str) -> Term {
    Term::Sized(format!("(ite {test} #b1 #b0)"), 1)
}

fn resized(text: &str, have: u32, want: u32) -> String {
    match have.cmp(&want) {
        std::cmp::Ordering::Less => format!("((_ zero_extend {}) {text})", want - have),
        std::cmp::Ordering::Equal => text.to_string(),
        std::cmp::Ordering::Greater => format!("((_ extract {} 0) {text})", want - 1),
    }
}

/// The body of one `update`.
struct Scope<'a> {
    node: &'a Node,
    loops: Vec<(String, usize)>,
    variants: BTreeMap<String, (u128, u32)>,
    /// Every assignment's target, with its width.
    order: Vec<(String, u32)>,
    lets: usize,
    text: String,
}

impl Scope<'_> {
    /// A name for a term, so that terms stay small.
    fn name(&mut self, term: &str, width: u32) -> String {
        let name = unknown("", &format!("term {}", self.lets));
        self.lets += 1;
        let _ = writeln!(self.text, "(define-fun {name} () (_ BitVec {width}) {term})");
        name
    }

    fn run(&mut self, block: &VerilogBlock, values: &mut Values) {
        for statement in block {
            self.statement(statement, values);
        }
    }

    fn statement(&mut self, statement: &VerilogStatement, values: &mut Values) {
        match statement {
            VerilogStatement::Assignment(VerilogExpression::Signal(target), value) => {
                let (signal, width) = self.signal(target);
                let value = self.term(value, values).sized(width);
                let value = self.name(&value, width);
                self.order.push((signal.clone(), width));
                values.insert(signal, value);
            }
            VerilogStatement::If(conditional) => {
                let test = self.term(&conditional.test, values).sized(1);
                let mut then = values.clone();
                self.run(&conditional.then, &mut then);
                match &conditional.otherwise {
                    VerilogBlockOrConditional::Block(block) => self.run(block, values),
                    VerilogBlockOrConditional::Conditional(next) => self.statement(next, values),
                    VerilogBlockOrConditional::None => {}
                }
                self.choose(&format!("(= {test} #b1)"), then, values);
            }
            VerilogStatement::Match(selection) => {
                let test = self.term(&selection.test, values);
                let width = test.width().expect("a width to match by");
                let test = test.sized(width);
                let before = values.clone();
                let mut arms = Vec::new();
                let mut otherwise = None;
                for case in &selection.cases {
                    let mut arm = before.clone();
                    self.run(&case.block, &mut arm);
                    match case.condition.replace("::", "$").as_str() {
                        "default" | "_" => otherwise = Some(arm),
                        condition => {
                            let known = self.variants.get(condition).map(|(value, _)| *value);
                            let value = known.unwrap_or_else(|| condition.parse().expect("a number"));
                            arms.push((format!("(= {test} (_ bv{value} {width}))"), arm));
                        }
                    }
                }
                // Without a default the last arm is for all that is left: an enumeration has no other values.
                *values = otherwise.unwrap_or_else(|| arms.last().expect("an arm").1.clone());
                for (test, arm) in arms.into_iter().rev() {
                    self.choose(&test, arm, values);
                }
            }
            VerilogStatement::Loop(l) => {
                for i in l.from.as_usize()..l.to.as_usize() {
                    self.loops.push((l.index.clone(), i));
                    self.run(&l.block, values);
                    self.loops.pop();
                }
            }
            VerilogStatement::Macro(block) => self.run(block, values),
            VerilogStatement::Comment(_) => {}
            other => panic!("{}: {other:?}", self.node.module),
        }
    }

    /// `values` becomes `then` where `test` holds. What only one side assigns has no value: the emitter has made sure that it is
    /// assigned again before it is read.
    fn choose(&mut self, test: &str, then: Values, values: &mut Values) {
        values.retain(|signal, _| then.contains_key(signal));
        for (signal, value) in then {
            let Some(other) = values.get(&signal).filter(|other| **other != value) else { continue };
            let width = self.width(&signal);
            let chosen = self.name(&format!("(ite {test} {value} {other})"), width);
            values.insert(signal, chosen);
        }
    }

    fn width(&self, unknown: &str) -> u32 {
        let inner = unknown.trim_matches('|');
        self.lookup(inner).width
    }

    fn lookup(&self, name: &str) -> &Signal {
        let found = match name.split_once('.') {
            None => self.node.signals.get(name),
            Some((instance, port)) => {
                let stem = instance.strip_prefix("u_").unwrap_or(instance);
                let child =
                    self.node.children.iter().find(|(n, c)| n == if c.register { instance } else { stem });
                child.and_then(|(_, child)| child.signals.get(port))
            }
        };
        found.unwrap_or_else(|| panic!("{}: there is no signal {name}", self.node.module))
    }

    /// The unknown that a name of the syntax tree means, and its width: `rows[2*i]$up_i$next` is `rows_6.up_i` for i = 3.
    fn signal(&self, text: &str) -> (String, u32) {
        let text = text.trim_start_matches('.').trim_end_matches("$next").trim_end_matches(".next");
        let mut parts: Vec<String> = text.split('$').map(|part| self.element(part)).collect();
        if let [child, _] = parts.as_mut_slice()
            && self.node.children.iter().any(|(name, node)| name == child && !node.register)
        {
            *child = format!("u_{child}");
        }
        let name = parts.join(".");
        (unknown("", &name), self.lookup(&name).width)
    }

    /// `rows[i + 1]` is `rows_4`.
    fn element(&self, part: &str) -> String {
        match part.split_once('[') {
            None => part.to_string(),
            Some((stem, index)) => indexed(stem, self.number(index.strip_suffix(']').expect("a bracket"))),
        }
    }

    /// An index: loop variables and numbers with `+`, `-`, `*` and parentheses. The operator that binds least and stands last
    /// outside of parentheses splits it.
    fn number(&self, text: &str) -> usize {
        let text = text.trim();
        for operators in ["+-", "*"] {
            let mut depth = 0;
            for (at, c) in text.char_indices().rev() {
                match c {
                    ')' => depth += 1,
                    '(' => depth -= 1,
                    _ if depth == 0 && operators.contains(c) => {
                        let (a, b) = (self.number(&text[..at]), self.number(&text[at + 1..]));
                        return match c {
                            '+' => a + b,
                            '-' => a - b,
                            _ => a * b,
                        };
                    }
                    _ => {}
                }
            }
        }
        if let Some(inner) = text.strip_prefix('(') {
            return self.number(inner.strip_suffix(')').expect("a parenthesis"));
        }
        let of_loop = self.loops.iter().rev().find(|(name, _)| name == text).map(|(_, value)| *value);
        of_loop.unwrap_or_else(|| text.trim_end_matches("usize").parse().expect("a number"))
    }

    fn term(&mut self, expression: &VerilogExpression, values: &Values) -> Term {
        match expression {
            VerilogExpression::Signal(text) => {
                if let Some((_, value)) = self.loops.iter().rev().find(|(index, _)| index == text) {
                    return Term::Number(*value as u128);
                }
                if let Some((value, width)) = self.variants.get(text) {
                    return Term::Sized(format!("(_ bv{value} {width})"), *width);
                }
                let (signal, width) = self.signal(text);
                Term::Sized(values.get(&signal).unwrap_or(&signal).clone(), width)
            }
            VerilogExpression::Literal(literal) => {
                let text = format!("{literal:x}");
                let (bits, digits) = text.split_once("'h").expect("digits");
                let value = u128::from_str_radix(digits, 16).expect("digits");
                if bits == "1" { Term::Sized(format!("(_ bv{value} 1)"), 1) } else { Term::Number(value) }
            }
            VerilogExpression::Paren(inner) => self.term(inner, values),
            VerilogExpression::Cast(inner, width) => {
                let want = *width as u32;
                match self.term(inner, values) {
                    Term::Sized(text, have) => Term::Sized(resized(&text, have, want), want),
                    Term::Number(value) => Term::Sized(format!("(_ bv{value} {want})"), want),
                }
            }
            VerilogExpression::Unary(operator, inner) => {
                let inner = self.term(inner, values);
                let width = inner.width().expect("a width");
                let inner = inner.sized(width);
                match operator {
                    VerilogOpUnary::Not => Term::Sized(format!("(bvnot {inner})"), width),
                    VerilogOpUnary::All => bit(&format!("(= (bvnot {inner}) {})", zero(width))),
                    VerilogOpUnary::Any => bit(&format!("(distinct {inner} {})", zero(width))),
                    VerilogOpUnary::Xor => {
                        let inner = self.name(&inner, width);
                        let bits = (0..width).map(|i| format!("((_ extract {i} {i}) {inner})"));
                        Term::Sized(bits.reduce(|a, b| format!("(bvxor {a} {b})")).expect("a bit"), 1)
                    }
                    VerilogOpUnary::Neg => panic!("signed values are not supported"),
                }
            }
            VerilogExpression::Binary(a, operator, b) => {
                let (a, b) = (self.term(a, values), self.term(b, values));
                self.binary(a, operator, b)
            }
            VerilogExpression::Index(base, index) => {
                let (base, index) = (self.term(base, values), self.term(index, values));
                let width = base.width().expect("a width");
                Term::Sized(resized(&shifted("bvlshr", (base.sized(width), width), index), width, 1), 1)
            }
            VerilogExpression::Slice(base, width, offset) => {
                let (base, offset) = (self.term(base, values), self.term(offset, values));
                let (have, want) = (base.width().expect("a width"), *width as u32);
                Term::Sized(resized(&shifted("bvlshr", (base.sized(have), have), offset), have, want), want)
            }
            VerilogExpression::IndexReplace(base, index, bit) => {
                let base = self.term(base, values);
                let width = base.width().expect("a width");
                let index = self.term(index, values);
                let bit = self.term(bit, values).sized(1);
                let (index, index_width) = match index {
                    Term::Sized(text, w) => (self.name(&text, w), w),
                    Term::Number(value) => (format!("(_ bv{value} 32)"), 32),
                };
                let at =
                    |value: String| shifted("bvshl", (value, width), Term::Sized(index.clone(), index_width));
                let hole = format!("(bvnot {})", at(format!("(_ bv1 {width})")));
                let patch = at(resized(&bit, 1, width));
                Term::Sized(format!("(bvor (bvand {} {hole}) {patch})", base.sized(width)), width)
            }
            other => panic!("{}: {other:?}", self.node.module),
        }
    }

    fn binary(&mut self, a: Term, operator: &VerilogOp, b: Term) -> Term {
        if let VerilogOp::Shl | VerilogOp::Shr = operator {
            let function = if let VerilogOp::Shl = operator { "bvshl" } else { "bvlshr" };
            let width = a.width().expect("a width");
            return Term::Sized(shifted(function, (a.sized(width), width), b), width);
        }
        let Some(width) = a.width().or(b.width()) else {
            let (Term::Number(a), Term::Number(b)) = (a, b) else { unreachable!("neither has a width") };
            return Term::Number(match operator {
                VerilogOp::Add => a + b,
                VerilogOp::Sub => a - b,
                VerilogOp::Mul => a * b,
                other => panic!("{other:?} of two numbers"),
            });
        };
        let b = match b {
            // A bool may be added to a number.
            Term::Sized(text, 1) if matches!(operator, VerilogOp::Add) => {
                Term::Sized(resized(&text, 1, width), width)
            }
            other => other,
        };
        let (a, b) = (a.sized(width), b.sized(width));
        let vector = |function: &str| Term::Sized(format!("({function} {a} {b})"), width);
        let test = |function: &str| bit(&format!("({function} {a} {b})"));
        match operator {
            VerilogOp::Add => vector("bvadd"),
            VerilogOp::Sub => vector("bvsub"),
            VerilogOp::BitAnd => vector("bvand"),
            VerilogOp::BitOr => vector("bvor"),
            VerilogOp::BitXor => vector("bvxor"),
            VerilogOp::LogicalAnd if width == 1 => vector("bvand"),
            VerilogOp::LogicalOr if width == 1 => vector("bvor"),
            VerilogOp::Eq => test("="),
            VerilogOp::Ne => test("distinct"),
            VerilogOp::Lt => test("bvult"),
            VerilogOp::Le => test("bvule"),
            VerilogOp::Gt => test("bvugt"),
            VerilogOp::Ge => test("bvuge"),
            other => panic!("{other:?} of {width} bits"),
        }
    }
}

/// `value` shifted, as wide as before; beyond its width nothing is left, however wide the amount is.
fn shifted(function: &str, (value, width): (String, u32), amount: Term) -> String {
    match amount {
        Term::Number(0) => value,
        Term::Number(by) if by >= u128::from(width) => zero(width),
        Term::Number(by) => format!("({function} {value} (_ bv{by} {width}))"),
        Term::Sized(amount, bits) => {
            let wide = width.max(bits);
            let shift =
                format!("({function} {} {})", resized(&value, width, wide), resized(&amount, bits, wide));
            resized(&shift, wide, width)
        }
    }
}
