//! Sized expressions and statements over resolved names: what is between a block and its text.

/// Hears of a signal, and of the bits that are read of it: the lowest and how many; `None` for all.
pub type Seen<'a> = dyn FnMut(&str, Option<(u32, u32)>) + 'a;

/// An expression; every one knows its width in bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr {
    /// A literal: width and hexadecimal digits without leading zeros.
    Literal(u32, String),
    /// A signal by its key, e.g. `rows[3].up_i`.
    Signal(String, u32),
    /// `op` over two operands of one width; the result is as wide.
    Binary(&'static str, Box<Expr>, Box<Expr>),
    /// A comparison or a logical operation: one bit.
    Test(&'static str, Box<Expr>, Box<Expr>),
    /// A shift: as wide as the left operand.
    Shift(&'static str, Box<Expr>, Box<Expr>),
    /// Bitwise not.
    Not(Box<Expr>),
    /// A reduction (`&`, `|`, `^`): one bit.
    Reduce(&'static str, Box<Expr>),
    /// One bit of a signal, by an expression.
    Bit(String, Box<Expr>),
    /// Bits `lo .. lo + width` of a signal; the last number is the signal's own width.
    Slice(String, u32, u32, u32),
    /// Concatenation, most significant first.
    Concat(Vec<Expr>),
    /// `test ? then : otherwise`.
    Mux(Box<Expr>, Box<Expr>, Box<Expr>),
}

impl Expr {
    /// Width in bits.
    pub fn width(&self) -> u32 {
        match self {
            Self::Literal(w, _) | Self::Signal(_, w) | Self::Slice(_, _, w, _) => *w,
            Self::Binary(_, a, _) | Self::Shift(_, a, _) | Self::Not(a) | Self::Mux(_, a, _) => a.width(),
            Self::Test(..) | Self::Reduce(..) | Self::Bit(..) => 1,
            Self::Concat(parts) => parts.iter().map(Self::width).sum(),
        }
    }

    /// `width` zero bits.
    pub fn zero(width: u32) -> Self {
        Self::Literal(width, "0".into())
    }

    /// Calls `see` with every signal that the expression reads.
    pub fn reads(&self, see: &mut dyn FnMut(&str)) {
        self.bits(&mut |key, _| see(key));
    }

    /// Calls `see` with every signal that the expression reads.
    pub fn bits(&self, see: &mut Seen<'_>) {
        match self {
            Self::Slice(key, lo, width, _) => see(key, Some((*lo, *width))),
            Self::Bit(key, index) => {
                match &**index {
                    Self::Literal(_, digits) => {
                        see(key, u32::from_str_radix(digits, 16).ok().map(|bit| (bit, 1)));
                    }
                    _ => see(key, None),
                }
                index.bits(see);
            }
            Self::Literal(..) => {}
            Self::Signal(key, _) => see(key, None),
            Self::Binary(_, a, b) | Self::Test(_, a, b) | Self::Shift(_, a, b) => {
                a.bits(see);
                b.bits(see);
            }
            Self::Not(a) | Self::Reduce(_, a) => a.bits(see),
            Self::Concat(parts) => parts.iter().for_each(|p| p.bits(see)),
            Self::Mux(t, a, b) => {
                t.bits(see);
                a.bits(see);
                b.bits(see);
            }
        }
    }

    /// True where the expression can stand in a port connection: a name, a part of it, a literal.
    pub fn is_simple(&self) -> bool {
        match self {
            Self::Literal(..) | Self::Signal(..) | Self::Slice(..) => true,
            Self::Bit(_, index) => matches!(**index, Self::Literal(..)),
            _ => false,
        }
    }
}

/// A statement of an `update`, loops unrolled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stmt {
    /// `target = value`.
    Assign(String, Expr),
    /// `target[bit] = value`.
    SetBit(String, u32, Expr),
    /// `if`.
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    /// `case`: the tested expression, literals with their blocks, default.
    Case(Expr, Vec<(Expr, Vec<Stmt>)>, Vec<Stmt>),
}

impl Stmt {
    /// Calls `see` with every signal that the statement reads. Setting one bit reads the others.
    pub fn reads(&self, see: &mut dyn FnMut(&str)) {
        match self {
            Self::Assign(_, value) => value.reads(see),
            Self::SetBit(target, _, value) => {
                see(target);
                value.reads(see);
            }
            Self::If(test, then, otherwise) => {
                test.reads(see);
                then.iter().chain(otherwise).for_each(|s| s.reads(see));
            }
            Self::Case(test, cases, default) => {
                test.reads(see);
                cases.iter().flat_map(|(_, block)| block).chain(default).for_each(|s| s.reads(see));
            }
        }
    }

    /// As [`Expr::bits`], of all its expressions.
    pub fn bits(&self, see: &mut Seen<'_>) {
        match self {
            Self::Assign(_, value) | Self::SetBit(_, _, value) => value.bits(see),
            Self::If(test, then, otherwise) => {
                test.bits(see);
                then.iter().chain(otherwise).for_each(|s| s.bits(see));
            }
            Self::Case(test, cases, default) => {
                test.bits(see);
                cases.iter().flat_map(|(_, block)| block).chain(default).for_each(|s| s.bits(see));
            }
        }
    }

    /// Calls `see` with every signal that the statement may write.
    pub fn writes(&self, see: &mut dyn FnMut(&str)) {
        match self {
            Self::Assign(target, _) | Self::SetBit(target, ..) => see(target),
            Self::If(_, then, otherwise) => then.iter().chain(otherwise).for_each(|s| s.writes(see)),
            Self::Case(_, cases, default) => {
                cases.iter().flat_map(|(_, block)| block).chain(default).for_each(|s| s.writes(see));
            }
        }
    }
}

/// A piece of combinational logic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Logic {
    /// `assign target = value;`
    Assign(String, Expr),
    /// `always @(*)` over these statements, in order; the targets they write.
    Process(Vec<String>, Vec<Stmt>),
}
