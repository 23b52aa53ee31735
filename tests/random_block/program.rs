//! A random program: typed by widths, every signal assigned on every path and before it is read.

/// Choices out of bytes; where they end, all choices are the first.
pub struct Choices<'a> {
    bytes: &'a [u8],
}

impl<'a> Choices<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    fn byte(&mut self) -> u8 {
        match self.bytes.split_first() {
            Some((first, rest)) => {
                self.bytes = rest;
                *first
            }
            None => 0,
        }
    }

    fn below(&mut self, n: usize) -> usize {
        usize::from(self.byte()) % n.max(1)
    }

    fn of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }

    fn yes(&mut self) -> bool {
        self.below(2) == 1
    }

    /// Small numbers, numbers of ones, and any.
    pub fn wide(&mut self) -> u64 {
        match self.below(4) {
            0 => self.below(8) as u64,
            1 => u64::MAX >> self.below(64),
            _ => {
                let bytes = [(); 8].map(|()| self.byte());
                u64::from_le_bytes(bytes)
            }
        }
    }
}

/// The low bits of `value`, so that it has at most `width`.
pub fn fits(value: u64, width: usize) -> u64 {
    if width >= 64 { value } else { value & ((1 << width) - 1) }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Input,
    Local,
    Output,
}

#[derive(Debug)]
pub struct Symbol {
    pub name: &'static str,
    pub class: Class,
    pub width: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Add,
    Sub,
    And,
    Or,
    Xor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    All,
    Any,
    Xor,
}

#[derive(Debug)]
pub enum Index {
    Number(usize),
    /// The loop's index.
    Loop,
    Value(Box<Expr>),
}

/// Symbols are indices into the list of symbols. Numbers take the width of what they stand beside.
#[derive(Debug)]
pub enum Expr {
    Symbol(usize),
    Literal(usize, u64),
    Not(Box<Expr>),
    Binary(Op, Box<Expr>, Box<Expr>),
    WithNumber(Op, Box<Expr>, u64),
    Test(Test, Box<Expr>, Box<Expr>),
    TestNumber(Test, Box<Expr>, u64),
    /// True: and.
    Logical(bool, Box<Expr>, Box<Expr>),
    Reduce(Reduction, Box<Expr>),
    /// True: to the left.
    Shift(bool, Box<Expr>, Box<Expr>),
    ShiftNumber(bool, Box<Expr>, u64),
    /// Bits and a bool.
    Carry(Box<Expr>, Box<Expr>),
    Cast(Box<Expr>, usize),
    Bit(Box<Expr>, Index),
    Part(Box<Expr>, usize, Index),
    Replace(Box<Expr>, Index, Box<Expr>),
}

#[derive(Debug)]
pub enum Stmt {
    Assign(usize, Expr),
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    Match(Expr, Vec<(u64, Vec<Stmt>)>, Vec<Stmt>),
    Loop(usize, usize, Vec<Stmt>),
}

#[derive(Debug, Default)]
pub struct Program(pub Vec<Stmt>);

/// Widths other than that of a bool.
const WIDTHS: [usize; 6] = [3, 5, 8, 32, 33, 70];

const TESTS: [Test; 6] = [Test::Eq, Test::Ne, Test::Lt, Test::Le, Test::Gt, Test::Ge];

impl Program {
    pub fn new(symbols: &'static [Symbol], choices: &mut Choices<'_>) -> Self {
        let assigned = symbols.iter().map(|symbol| symbol.class == Class::Input).collect();
        let mut maker = Maker { symbols, choices, assigned, end: None };
        let mut stmts = Vec::new();
        let length = 3 + maker.choices.below(10);
        maker.block(length, 3, &mut stmts);
        for (target, symbol) in symbols.iter().enumerate() {
            if !maker.assigned[target] {
                let value = maker.expr(symbol.width, 3);
                maker.assign(target, value, &mut stmts);
            }
        }
        Self(stmts)
    }
}

struct Maker<'a, 'b> {
    symbols: &'static [Symbol],
    choices: &'a mut Choices<'b>,
    /// What has a value here, on every path.
    assigned: Vec<bool>,
    /// Where the loop ends, inside of one.
    end: Option<usize>,
}

impl Maker<'_, '_> {
    fn assign(&mut self, target: usize, value: Expr, out: &mut Vec<Stmt>) {
        out.push(Stmt::Assign(target, value));
        self.assigned[target] = true;
    }

    fn block(&mut self, length: usize, depth: usize, out: &mut Vec<Stmt>) {
        for _ in 0..length {
            self.statement(depth, out);
        }
    }

    /// A block whose assignments count only if all of its siblings have them; gives what was assigned behind it.
    fn branch(&mut self, before: &[bool], depth: usize) -> (Vec<Stmt>, Vec<bool>) {
        self.assigned = before.to_vec();
        let (mut block, length) = (Vec::new(), self.choices.below(4));
        self.block(length, depth, &mut block);
        (block, std::mem::take(&mut self.assigned))
    }

    fn target(&mut self) -> usize {
        let targets: Vec<usize> =
            (0..self.symbols.len()).filter(|s| self.symbols[*s].class != Class::Input).collect();
        self.choices.of(&targets)
    }

    fn statement(&mut self, depth: usize, out: &mut Vec<Stmt>) {
        let kind = if depth == 0 { 0 } else { self.choices.below(8) };
        match kind {
            4 | 5 => {
                let test = self.expr(1, 2);
                let before = self.assigned.clone();
                let (then, mut both) = self.branch(&before, depth - 1);
                let (otherwise, other) = self.branch(&before, depth - 1);
                both.iter_mut().zip(other).for_each(|(a, b)| *a &= b);
                self.assigned = both;
                out.push(Stmt::If(test, then, otherwise));
            }
            6 => {
                let width = self.choices.of(&[3, 5, 8]);
                let test = self.expr(width, 2);
                let before = self.assigned.clone();
                let (default, mut all) = self.branch(&before, depth - 1);
                let mut cases: Vec<(u64, Vec<Stmt>)> = Vec::new();
                for _ in 0..1 + self.choices.below(8) {
                    let value = fits(self.choices.byte().into(), width);
                    if cases.iter().all(|(other, _)| *other != value) {
                        let (block, assigned) = self.branch(&before, depth - 1);
                        all.iter_mut().zip(assigned).for_each(|(a, b)| *a &= b);
                        cases.push((value, block));
                    }
                }
                self.assigned = all;
                out.push(Stmt::Match(test, cases, default));
            }
            7 if self.end.is_none() => {
                let from = self.choices.below(2);
                let to = from + 1 + self.choices.below(3);
                self.end = Some(to);
                let (mut block, length) = (Vec::new(), 1 + self.choices.below(3));
                self.block(length, depth - 1, &mut block);
                self.end = None;
                out.push(Stmt::Loop(from, to, block));
            }
            kind => {
                let target = self.target();
                let width = self.symbols[target].width;
                let value = match self.assigned[target] && width > 1 && kind == 3 {
                    // One bit of it.
                    true => {
                        let index = self.index(width, 2);
                        let bit = self.expr(1, 2);
                        Expr::Replace(Box::new(Expr::Symbol(target)), index, Box::new(bit))
                    }
                    false => self.expr(width, 4),
                };
                self.assign(target, value, out);
            }
        }
    }

    fn boxed(&mut self, width: usize, depth: usize) -> Box<Expr> {
        Box::new(self.expr(width, depth))
    }

    /// An index that cannot miss in a value of so many bits.
    fn index(&mut self, width: usize, depth: usize) -> Index {
        match (self.choices.below(3), self.end) {
            (0, Some(end)) if end <= width => Index::Loop,
            (1, _) if width >= 32 && depth > 0 => Index::Value(self.boxed(5, depth - 1)),
            (1, _) if width >= 8 && depth > 0 => Index::Value(self.boxed(3, depth - 1)),
            _ => Index::Number(self.choices.below(width)),
        }
    }

    fn leaf(&mut self, width: usize) -> Expr {
        let known: Vec<usize> = (0..self.symbols.len())
            .filter(|s| self.assigned[*s] && self.symbols[*s].width == width)
            .collect();
        if known.is_empty() || self.choices.below(8) == 7 {
            return Expr::Literal(width, fits(self.choices.wide(), width));
        }
        Expr::Symbol(self.choices.of(&known))
    }

    fn expr(&mut self, width: usize, depth: usize) -> Expr {
        if depth == 0 {
            return self.leaf(width);
        }
        let d = depth - 1;
        if width == 1 {
            return match self.choices.below(10) {
                0 => self.leaf(1),
                1 => Expr::Not(self.boxed(1, d)),
                2 => Expr::Binary(
                    self.choices.of(&[Op::And, Op::Or, Op::Xor]),
                    self.boxed(1, d),
                    self.boxed(1, d),
                ),
                3 => Expr::Logical(self.choices.yes(), self.boxed(1, d), self.boxed(1, d)),
                4 => Expr::Test(self.choices.of(&[Test::Eq, Test::Ne]), self.boxed(1, d), self.boxed(1, d)),
                5 | 6 => {
                    let width = self.choices.of(&WIDTHS);
                    Expr::Test(self.choices.of(&TESTS), self.boxed(width, d), self.boxed(width, d))
                }
                7 => {
                    let width = self.choices.of(&WIDTHS);
                    let number = fits(self.choices.wide(), width);
                    Expr::TestNumber(self.choices.of(&TESTS), self.boxed(width, d), number)
                }
                8 => {
                    let width = self.choices.of(&WIDTHS);
                    let reduction = self.choices.of(&[Reduction::All, Reduction::Any, Reduction::Xor]);
                    Expr::Reduce(reduction, self.boxed(width, d))
                }
                _ => {
                    let width = self.choices.of(&WIDTHS);
                    Expr::Bit(self.boxed(width, d), self.index(width, d))
                }
            };
        }
        let op = self.choices.of(&[Op::Add, Op::Sub, Op::And, Op::Or, Op::Xor]);
        match self.choices.below(12) {
            0 => self.leaf(width),
            1 => Expr::Not(self.boxed(width, d)),
            2 | 3 => Expr::Binary(op, self.boxed(width, d), self.boxed(width, d)),
            4 => {
                let number = fits(self.choices.wide(), width);
                Expr::WithNumber(op, self.boxed(width, d), number)
            }
            5 => {
                let by = self.choices.of(&[3, 5, 8]);
                Expr::Shift(self.choices.yes(), self.boxed(width, d), self.boxed(by, d))
            }
            6 => {
                let by = self.choices.below(width) as u64;
                Expr::ShiftNumber(self.choices.yes(), self.boxed(width, d), by)
            }
            7 => Expr::Carry(self.boxed(width, d), self.boxed(1, d)),
            8 | 9 => {
                let from = self.choices.of(&WIDTHS);
                Expr::Cast(self.boxed(from, d), width)
            }
            10 => {
                let from = self.choices.of(&WIDTHS);
                Expr::Part(self.boxed(from, d), width, self.index(from, d))
            }
            _ => Expr::Replace(self.boxed(width, d), self.index(width, d), self.boxed(1, d)),
        }
    }
}
