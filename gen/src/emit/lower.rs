//! From a block's `update` to sized logic: names resolved, loops unrolled, widths made explicit, order checked.

use super::EmitError;
use super::group::group;
use super::ir::{Expr, Logic, Stmt};
use super::tree::Node;
use rust_hdl::core::ast::{
    VerilogBlock, VerilogBlockOrConditional, VerilogExpression, VerilogMatch, VerilogOp, VerilogOpUnary,
    VerilogStatement,
};
use rust_hdl::core::atom::AtomKind;
use rust_hdl::prelude::Verilog;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// What a name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Class {
    Input,
    Output,
    Local,
    Constant(String),
    ChildInput,
    ChildOutput,
}

/// A name with its width.
#[derive(Clone, Debug)]
pub struct Symbol {
    pub class: Class,
    pub width: u32,
    signed: bool,
}

/// A module ready to be printed.
pub struct Lowered {
    pub symbols: BTreeMap<String, Symbol>,
    pub logic: Vec<Logic>,
    /// The body, where the block brings its own.
    pub custom: Option<String>,
}

/// Lowers one block; all that is wrong with it comes back together.
pub fn lower(node: &Node) -> Result<Lowered, Vec<EmitError>> {
    let mut lowering = Lowering::new(node);
    let block = match &node.hdl {
        Verilog::Combinatorial(block) => block,
        Verilog::Custom(text) => {
            let custom = Some(text.clone());
            return Ok(Lowered { symbols: lowering.symbols, logic: Vec::new(), custom });
        }
        _ => {
            lowering.error(
                "has no Verilog: its `update` lacks #[hdl_gen], and it brings no text of its own".into(),
            );
            return Err(lowering.errors);
        }
    };
    let mut stmts = Vec::new();
    lowering.block(block, &mut stmts);
    lowering.default_parts(&mut stmts);
    lowering.check_assignments(&stmts);
    if !lowering.errors.is_empty() {
        return Err(lowering.errors);
    }
    let logic = group(stmts, &lowering.symbols);
    Ok(Lowered { symbols: lowering.symbols, logic, custom: None })
}

/// An expression whose width may still be open: an integer literal, or a loop index.
enum Value {
    Sized(Expr),
    Loose(u128),
}

type Lower<T> = Result<T, String>;

struct Lowering<'a> {
    node: &'a Node,
    symbols: BTreeMap<String, Symbol>,
    variants: HashMap<String, (u32, usize)>,
    loops: Vec<(String, usize)>,
    hoisted: Vec<Stmt>,
    /// What was assigned so far, somewhere.
    assigned: HashSet<String>,
    /// Comments that are written already; in a loop they would come again.
    comments: HashSet<String>,
    /// The names that [`Lowering::named`] gave.
    parts: Vec<String>,
    errors: Vec<EmitError>,
}

impl<'a> Lowering<'a> {
    fn new(node: &'a Node) -> Self {
        let mut symbols = BTreeMap::new();
        let mut variants = HashMap::new();
        let mut errors = Vec::new();
        // An enumeration may be known only from the register that holds it.
        for atom in node.atoms.iter().chain(node.children.values().flat_map(|c| &c.atoms)) {
            for (value, variant) in atom.variants.iter().enumerate() {
                variants.insert(variant.replace("::", "$"), (atom.width, value));
            }
        }
        for atom in &node.atoms {
            let class = match atom.kind {
                AtomKind::InputParameter => Class::Input,
                AtomKind::OutputParameter => Class::Output,
                AtomKind::LocalSignal => Class::Local,
                AtomKind::Constant => Class::Constant(atom.value.clone()),
                other => {
                    let what = format!("{}: signals of kind {other:?} are not supported", atom.key);
                    errors.push(EmitError::refused(&node.info.module, what));
                    continue;
                }
            };
            symbols.insert(atom.key.clone(), Symbol { class, width: atom.width, signed: atom.signed });
        }
        for (name, child) in &node.children {
            for atom in &child.atoms {
                let class = match atom.kind {
                    AtomKind::InputParameter => Class::ChildInput,
                    AtomKind::OutputParameter => Class::ChildOutput,
                    _ => continue,
                };
                let symbol = Symbol { class, width: atom.width, signed: atom.signed };
                symbols.insert(format!("{name}.{}", atom.key), symbol);
            }
        }
        let (loops, hoisted, parts) = (Vec::new(), Vec::new(), Vec::new());
        let (assigned, comments) = (HashSet::new(), HashSet::new());
        Self { node, symbols, variants, loops, hoisted, assigned, comments, parts, errors }
    }

    fn error(&mut self, what: String) {
        let error = EmitError::refused(&self.node.info.module, what);
        if !self.errors.contains(&error) {
            self.errors.push(error);
        }
    }

    // ---- statements

    fn block(&mut self, block: &VerilogBlock, out: &mut Vec<Stmt>) {
        let mut comment: Vec<&str> = Vec::new();
        for statement in block {
            if let VerilogStatement::Comment(text) = statement {
                comment.push(comment_text(text));
                continue;
            }
            let mut stmts = Vec::new();
            if let Err(what) = self.statement(statement, &mut stmts) {
                self.hoisted.clear();
                self.error(what);
            }
            // Of a loop that has no turns there is nothing to say.
            let text = std::mem::take(&mut comment).join("\n");
            if !text.is_empty() && !stmts.is_empty() && self.comments.insert(text.clone()) {
                out.push(Stmt::Comment(text));
            }
            out.append(&mut stmts);
        }
    }

    /// The hoisted parts of a statement's expressions come right before it.
    fn push(&mut self, stmt: Stmt, out: &mut Vec<Stmt>) {
        out.append(&mut self.hoisted);
        out.push(stmt);
    }

    fn statement(&mut self, statement: &VerilogStatement, out: &mut Vec<Stmt>) -> Lower<()> {
        match statement {
            VerilogStatement::Assignment(target, value) => {
                let VerilogExpression::Signal(name) = target else {
                    return Err("assigns to something that is not a signal".into());
                };
                let (target, width) = self.target(name)?;
                if let VerilogExpression::IndexReplace(base, index, bit) = value
                    && let VerilogExpression::Signal(base) = &**base
                    && self.resolve(base)? == target
                    && let Value::Loose(index) = self.place(index)?
                {
                    let index = bit_of(index, width).map_err(|e| format!("{target}: {e}"))?;
                    let bit = self.sized(bit, 1)?;
                    self.push(Stmt::SetBit(target, index, bit), out);
                    return Ok(());
                }
                let value = self.sized(value, width).map_err(|e| format!("{target}: {e}"))?;
                let same = matches!(&value, Expr::Signal(source, _) if *source == target);
                // The last turn of a loop may leave a value as it is. A signal that has none yet is found to be read too early.
                if !same || !self.assigned.contains(&target) {
                    self.assigned.insert(target.clone());
                    self.push(Stmt::Assign(target, value), out);
                }
            }
            VerilogStatement::If(conditional) => {
                let test = self.sized(&conditional.test, 1)?;
                let hoisted = std::mem::take(&mut self.hoisted);
                let (mut then, mut otherwise) = (Vec::new(), Vec::new());
                self.block(&conditional.then, &mut then);
                match &conditional.otherwise {
                    VerilogBlockOrConditional::Block(block) => self.block(block, &mut otherwise),
                    VerilogBlockOrConditional::Conditional(next) => self.statement(next, &mut otherwise)?,
                    VerilogBlockOrConditional::None => {}
                }
                self.hoisted = hoisted;
                // A test that constants decide: parts that it named are assigned all the same.
                out.append(&mut self.hoisted);
                match test.constant() {
                    Some(0) => out.append(&mut otherwise),
                    Some(_) => out.append(&mut then),
                    None => out.push(Stmt::If(test, then, otherwise)),
                }
            }
            VerilogStatement::Match(selection) => self.selection(selection, out)?,
            VerilogStatement::Loop(l) => {
                for i in l.from.as_usize()..l.to.as_usize() {
                    self.loops.push((l.index.clone(), i));
                    self.block(&l.block, out);
                    self.loops.pop();
                }
            }
            VerilogStatement::Macro(block) => self.block(block, out),
            VerilogStatement::Comment(_) => {} // with the statement that follows: `block`
            VerilogStatement::Link(_) => return Err("interfaces (`join`, `link`) are not supported".into()),
            VerilogStatement::SliceAssignment { .. } => {
                return Err("assignment to a field of a struct is not supported".into());
            }
        }
        Ok(())
    }

    fn selection(&mut self, selection: &VerilogMatch, out: &mut Vec<Stmt>) -> Lower<()> {
        let Value::Sized(test) = self.value(&selection.test)? else {
            return Err("match on a literal".into());
        };
        let hoisted = std::mem::take(&mut self.hoisted);
        let (mut cases, mut default) = (Vec::new(), Vec::new());
        for case in &selection.cases {
            let mut block = Vec::new();
            self.block(&case.block, &mut block);
            let condition = case.condition.replace("::", "$");
            if condition == "default" {
                default = block;
            } else {
                let value = match self.variants.get(&condition) {
                    Some((_, value)) => *value as u128,
                    None => condition.parse().map_err(|_| format!("match arm `{condition}` is unknown"))?,
                };
                cases.push((literal(value, test.width())?, block));
            }
        }
        self.hoisted = hoisted;
        self.push(Stmt::Case(test, cases, default), out);
        Ok(())
    }

    // ---- names

    /// `rows[i]$up_i$next` with i = 3 becomes `rows[3].up_i`.
    fn resolve(&self, name: &str) -> Lower<String> {
        let name = name.trim_start_matches('.').trim_end_matches("$next").trim_end_matches(".next");
        let mut key = String::new();
        for part in name.split('$') {
            if !key.is_empty() {
                key.push('.');
            }
            let mut rest = part;
            while let Some((stem, tail)) = rest.split_once('[') {
                let (index, tail) =
                    tail.split_once(']').ok_or_else(|| format!("`{name}`: unbalanced brackets"))?;
                key.push_str(&format!("{stem}[{}]", self.index(index)?));
                rest = tail;
            }
            key.push_str(rest);
        }
        Ok(key)
    }

    /// What an index comes to that is made of loop indexes and numbers with `+`, `-`, `*` and parentheses.
    fn index(&self, text: &str) -> Lower<usize> {
        let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let (value, _) = self
            .sum(&text)
            .filter(|(_, rest)| rest.is_empty())
            .ok_or_else(|| format!("index `{text}` is not made of loop indexes and numbers"))?;
        usize::try_from(value).map_err(|_| format!("index `{text}` is negative"))
    }

    /// The value of the sum that `text` begins with, and what follows it.
    fn sum<'t>(&self, text: &'t str) -> Option<(i64, &'t str)> {
        let (mut value, mut rest) = self.product(text)?;
        loop {
            let sign = match rest.chars().next() {
                Some('+') => 1,
                Some('-') => -1,
                _ => return Some((value, rest)),
            };
            let (term, after) = self.product(&rest[1..])?;
            value = value.checked_add(sign * term)?;
            rest = after;
        }
    }

    fn product<'t>(&self, text: &'t str) -> Option<(i64, &'t str)> {
        let (mut value, mut rest) = self.factor(text)?;
        while let Some(more) = rest.strip_prefix('*') {
            let (factor, after) = self.factor(more)?;
            value = value.checked_mul(factor)?;
            rest = after;
        }
        Some((value, rest))
    }

    fn factor<'t>(&self, text: &'t str) -> Option<(i64, &'t str)> {
        if let Some(inner) = text.strip_prefix('(') {
            let (value, rest) = self.sum(inner)?;
            return Some((value, rest.strip_prefix(')')?));
        }
        let end = text.find(['+', '-', '*', '(', ')']).unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        let known = self.loops.iter().rev().find(|(name, _)| name == word).map(|(_, value)| *value as i64);
        Some((known.or_else(|| word.trim_end_matches("usize").parse().ok())?, rest))
    }

    fn target(&mut self, name: &str) -> Lower<(String, u32)> {
        let key = self.resolve(name)?;
        let symbol = self.symbols.get(&key).ok_or_else(|| format!("there is no signal `{key}`"))?;
        match symbol.class {
            Class::Output | Class::Local | Class::ChildInput => Ok((key, symbol.width)),
            _ => Err(format!("{key} may not be assigned")),
        }
    }

    // ---- expressions

    fn sized(&mut self, expression: &VerilogExpression, width: u32) -> Lower<Expr> {
        match self.value(expression)? {
            Value::Loose(value) => literal(value, width),
            Value::Sized(expr) if expr.width() == width => Ok(expr),
            Value::Sized(expr) => {
                Err(format!("{} bits where {width} are wanted; say which with `bit_cast`", expr.width()))
            }
        }
    }

    fn value(&mut self, expression: &VerilogExpression) -> Lower<Value> {
        Ok(Value::Sized(match expression {
            VerilogExpression::Signal(name) => return self.signal(name),
            VerilogExpression::Literal(l) => {
                let text = format!("{l:x}");
                let (bits, digits) = text.split_once("'h").ok_or("a literal without digits")?;
                let value = u128::from_str_radix(digits, 16).map_err(|_| format!("literal {text}"))?;
                if bits != "1" {
                    return Ok(Value::Loose(value));
                }
                literal(value, 1)?
            }
            VerilogExpression::Paren(inner) => return self.value(inner),
            VerilogExpression::Cast(inner, width) => {
                let width = *width as u32;
                match self.value(inner)? {
                    Value::Loose(value) => literal(value, width)?,
                    Value::Sized(expr) => self.resize(expr, width),
                }
            }
            VerilogExpression::Binary(a, op, b) => return self.binary(a, op, b),
            VerilogExpression::Unary(op, inner) => {
                let Value::Sized(inner) = self.value(inner)? else {
                    return Err("an operator on a literal without width".into());
                };
                match op {
                    VerilogOpUnary::Not => Expr::not(inner),
                    VerilogOpUnary::Any => Expr::any(inner),
                    VerilogOpUnary::All => Expr::Reduce("&", Box::new(inner)),
                    VerilogOpUnary::Xor => Expr::Reduce("^", Box::new(inner)),
                    VerilogOpUnary::Neg => {
                        return Err("negation is for signed values, which are not supported".into());
                    }
                }
            }
            VerilogExpression::Index(base, index) => {
                let base = self.sized_any(base)?;
                let width = base.width();
                match self.place(index)? {
                    Value::Loose(index) => self.slice(base, bit_of(index, width)?, 1),
                    Value::Sized(index) if index.width() > index_bits(width) => {
                        return Err(format!(
                            "an index of {} bits into {width}: cut it with `bit_cast`, so that it cannot miss",
                            index.width()
                        ));
                    }
                    Value::Sized(_) if width == 1 => base,
                    Value::Sized(index) => {
                        let index = self.resize(index, index_bits(width));
                        Expr::Bit(self.named(base), Box::new(index))
                    }
                }
            }
            VerilogExpression::Slice(base, width, offset) => {
                let base = self.sized_any(base)?;
                let width = *width as u32;
                match self.place(offset)? {
                    Value::Loose(offset) => {
                        let whole = base.width();
                        let offset = u32::try_from(offset).unwrap_or(u32::MAX).min(whole);
                        let part = self.slice(base, offset, width.min(whole - offset));
                        self.resize(part, width)
                    }
                    Value::Sized(offset) => {
                        let shifted = Expr::shift(">>", base, offset);
                        self.resize(shifted, width)
                    }
                }
            }
            VerilogExpression::IndexReplace(base, index, bit) => {
                let base = self.sized_any(base)?;
                let width = base.width();
                let index = self.place(index)?;
                let bit = self.sized(bit, 1)?;
                match index {
                    Value::Loose(index) => {
                        let index = bit_of(index, width)?;
                        let above = width - index - 1;
                        let base = match base.cut(index + 1, above).and(base.cut(0, index)) {
                            Some(_) => base,
                            None => Expr::Signal(self.named(base), width),
                        };
                        let high = self.slice(base.clone(), index + 1, above);
                        let low = self.slice(base, 0, index);
                        Expr::concat(vec![high, bit, low])
                    }
                    Value::Sized(index) => {
                        let at = |value: Expr| Expr::shift("<<", value, index.clone());
                        let hole = Expr::Not(Box::new(at(literal(1, width)?)));
                        let patch = at(self.resize(bit, width));
                        let kept = Expr::Binary("&", Box::new(base), Box::new(hole));
                        Expr::Binary("|", Box::new(kept), Box::new(patch))
                    }
                }
            }
            VerilogExpression::Signed(_) | VerilogExpression::Unsigned(_) => {
                return Err("signed values are not supported".into());
            }
        }))
    }

    /// An index or an offset: a constant is known, however many bits it is written with.
    fn place(&mut self, expression: &VerilogExpression) -> Lower<Value> {
        Ok(match self.value(expression)? {
            Value::Sized(expr) => expr.constant().map_or(Value::Sized(expr), Value::Loose),
            loose => loose,
        })
    }

    fn sized_any(&mut self, expression: &VerilogExpression) -> Lower<Expr> {
        match self.value(expression)? {
            Value::Sized(expr) => Ok(expr),
            Value::Loose(_) => Err("a literal without width where bits are taken from it".into()),
        }
    }

    fn signal(&mut self, name: &str) -> Lower<Value> {
        if let Some((_, value)) = self.loops.iter().rev().find(|(index, _)| index == name) {
            return Ok(Value::Loose(*value as u128));
        }
        if let Some((width, value)) = self.variants.get(name) {
            return literal(*value as u128, *width).map(Value::Sized);
        }
        let key = self.resolve(name)?;
        let symbol = self.symbols.get(&key).ok_or_else(|| format!("there is no signal `{key}`"))?;
        if symbol.signed {
            return Err(format!("{key} is signed; signed values are not supported"));
        }
        Ok(Value::Sized(match &symbol.class {
            Class::Constant(digits) => Expr::Literal(symbol.width, digits.clone()),
            Class::ChildInput => {
                return Err(format!(
                    "reads back {key}, the input of a sub-block: rust-hdl and Verilog differ there; gather it in a local signal"
                ));
            }
            _ => Expr::Signal(key, symbol.width),
        }))
    }

    fn binary(&mut self, a: &VerilogExpression, op: &VerilogOp, b: &VerilogExpression) -> Lower<Value> {
        let (a, b) = (self.value(a)?, self.value(b)?);
        if let VerilogOp::Shl | VerilogOp::Shr = op {
            let op = if let VerilogOp::Shl = op { "<<" } else { ">>" };
            let Value::Sized(a) = a else { return Err("a shift of a literal without width".into()) };
            let b = match b {
                Value::Sized(b) => b,
                Value::Loose(b) => literal(b, 128 - (b | 1).leading_zeros())?,
            };
            return Ok(Value::Sized(Expr::shift(op, a, b)));
        }
        let (a, b) = match (a, b) {
            (Value::Sized(a), Value::Sized(b)) if a.width() == b.width() => (a, b),
            // rust-hdl adds a bool to a number.
            (Value::Sized(a), Value::Sized(b)) if b.width() == 1 && matches!(op, VerilogOp::Add) => {
                let b = self.resize(b, a.width());
                (a, b)
            }
            (Value::Sized(a), Value::Sized(b)) => {
                return Err(format!("{op:?} of {} bits and {} bits", a.width(), b.width()));
            }
            (Value::Sized(a), Value::Loose(b)) => {
                let b = literal(b, a.width())?;
                (a, b)
            }
            (Value::Loose(a), Value::Sized(b)) => (literal(a, b.width())?, b),
            (Value::Loose(a), Value::Loose(b)) => {
                let folded = match op {
                    VerilogOp::Add => a.checked_add(b),
                    VerilogOp::Sub => a.checked_sub(b),
                    VerilogOp::Mul => a.checked_mul(b),
                    _ => None,
                };
                return folded.map(Value::Loose).ok_or_else(|| format!("{op:?} of two literals"));
            }
        };
        let test = |op, a, b| Expr::Test(op, Box::new(a), Box::new(b));
        Ok(Value::Sized(match op {
            VerilogOp::Add => Expr::binary("+", a, b),
            VerilogOp::Sub => Expr::binary("-", a, b),
            VerilogOp::BitAnd => Expr::binary("&", a, b),
            VerilogOp::BitOr => Expr::binary("|", a, b),
            VerilogOp::BitXor => Expr::binary("^", a, b),
            VerilogOp::LogicalAnd => test("&&", a, b),
            VerilogOp::LogicalOr => test("||", a, b),
            VerilogOp::Eq => test("==", a, b),
            VerilogOp::Ne => test("!=", a, b),
            VerilogOp::Lt => test("<", a, b),
            VerilogOp::Le => test("<=", a, b),
            VerilogOp::Gt => test(">", a, b),
            VerilogOp::Ge => test(">=", a, b),
            VerilogOp::Mul => {
                return Err("multiplication is for signed values, which are not supported".into());
            }
            VerilogOp::Shl | VerilogOp::Shr => return Err("a shift".into()),
        }))
    }

    fn resize(&mut self, expr: Expr, width: u32) -> Expr {
        let have = expr.width();
        match have.cmp(&width) {
            std::cmp::Ordering::Equal => expr,
            std::cmp::Ordering::Less => Expr::concat(vec![Expr::zero(width - have), expr]),
            std::cmp::Ordering::Greater => self.slice(expr, 0, width),
        }
    }

    fn slice(&mut self, expr: Expr, lo: u32, width: u32) -> Expr {
        let whole = expr.width();
        expr.cut(lo, width).unwrap_or_else(|| Expr::Slice(self.named(expr), lo, width, whole))
    }

    /// Verilog takes bits from names only: anything else gets one.
    fn named(&mut self, expr: Expr) -> String {
        if let Expr::Signal(key, _) = expr {
            return key;
        }
        let mut number = self.parts.len();
        while self.symbols.contains_key(&format!("bits_{number}")) {
            number += 1;
        }
        let key = format!("bits_{number}");
        self.parts.push(key.clone());
        self.symbols.insert(key.clone(), Symbol { class: Class::Local, width: expr.width(), signed: false });
        self.hoisted.push(Stmt::Assign(key.clone(), expr));
        key
    }

    // ---- order

    /// A part that is taken under a condition is read there only; without a value elsewhere it would be a latch.
    fn default_parts(&self, stmts: &mut Vec<Stmt>) {
        let assigned = self.walk(stmts, None, &mut Vec::new());
        let parts = self.parts.iter().filter(|part| !assigned.contains(part.as_str()));
        let defaults: Vec<Stmt> =
            parts.map(|part| Stmt::Assign(part.clone(), Expr::zero(self.symbols[part].width))).collect();
        stmts.splice(0..0, defaults);
    }

    /// Every signal is assigned on every path, and before it is read.
    fn check_assignments(&mut self, stmts: &[Stmt]) {
        let mut problems = Vec::new();
        let assigned = self.walk(stmts, None, &mut problems);
        for (key, symbol) in &self.symbols {
            if matches!(symbol.class, Class::Output | Class::Local | Class::ChildInput)
                && !assigned.contains(key.as_str())
            {
                problems.push(format!("{key} is not assigned on every path: a latch"));
            }
        }
        problems.into_iter().for_each(|p| self.error(p));
    }

    /// What is assigned in `stmts` whatever happens; `before` is what was.
    fn walk<'s>(
        &self,
        stmts: &'s [Stmt],
        before: Option<&Assigned<'_, 's>>,
        problems: &mut Vec<String>,
    ) -> BTreeSet<&'s str> {
        let mut assigned = Assigned { before, here: BTreeSet::new() };
        let check = |expr: &Expr, assigned: &Assigned<'_, '_>, problems: &mut Vec<String>| {
            expr.reads(&mut |key| {
                let written = matches!(self.symbols[key].class, Class::Output | Class::Local);
                if written && !assigned.contains(key) {
                    problems.push(format!("{key} is read before it is assigned"));
                }
            });
        };
        for stmt in stmts {
            match stmt {
                Stmt::Comment(_) => {}
                Stmt::Assign(target, value) => {
                    check(value, &assigned, problems);
                    assigned.here.insert(target);
                }
                Stmt::SetBit(target, _, value) => {
                    check(value, &assigned, problems);
                    if !assigned.contains(target) {
                        problems.push(format!("{target}: a bit is set before the whole is assigned"));
                    }
                }
                Stmt::If(test, then, otherwise) => {
                    check(test, &assigned, problems);
                    let then = self.walk(then, Some(&assigned), problems);
                    let otherwise = self.walk(otherwise, Some(&assigned), problems);
                    assigned.here.extend(then.intersection(&otherwise).copied());
                }
                Stmt::Case(test, cases, default) => {
                    check(test, &assigned, problems);
                    let mut always = self.walk(default, Some(&assigned), problems);
                    let covered = cases.len() as u128 >= 1u128 << test.width().min(100);
                    for (i, (_, block)) in cases.iter().enumerate() {
                        let other = self.walk(block, Some(&assigned), problems);
                        if i == 0 && covered && default.is_empty() {
                            always = other;
                        } else {
                            always.retain(|key| other.contains(key));
                        }
                    }
                    assigned.here.extend(always);
                }
            }
        }
        assigned.here
    }
}

/// What is assigned at some point: in a block so far, and before it.
struct Assigned<'a, 's> {
    before: Option<&'a Assigned<'a, 's>>,
    here: BTreeSet<&'s str>,
}

impl Assigned<'_, '_> {
    fn contains(&self, key: &str) -> bool {
        self.here.contains(key) || self.before.is_some_and(|before| before.contains(key))
    }
}

fn index_bits(width: u32) -> u32 {
    (width.max(2) - 1).ilog2() + 1
}

fn bit_of(index: u128, width: u32) -> Lower<u32> {
    if index < u128::from(width) { Ok(index as u32) } else { Err(format!("bit {index} of {width}")) }
}

fn literal(value: u128, width: u32) -> Lower<Expr> {
    if width < 128 && value >> width != 0 {
        return Err(format!("{value} does not fit into {width} bits"));
    }
    Ok(Expr::Literal(width, format!("{value:x}")))
}

/// What rust-hdl has of `comment!("text")`: the macro's tokens, without the end.
fn comment_text(tokens: &str) -> &str {
    let text = tokens.split_once('"').map_or(tokens, |(_, text)| text);
    text.split('"').next().unwrap_or_default()
}
