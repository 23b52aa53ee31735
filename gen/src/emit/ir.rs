//! Sized expressions and statements over resolved names: what is between a block and its text.

use std::collections::BTreeSet;

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
    /// One bit of a signal, by an expression that is not a constant.
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

    /// `a op b` of one width, where constants do not decide it.
    pub fn binary(op: &'static str, a: Self, b: Self) -> Self {
        // The constant that decides the result, and the one that leaves it to the other operand.
        let (decides, leaves) = match op {
            "&" => (false, true),
            "|" => (true, false),
            _ => return Self::Binary(op, Box::new(a), Box::new(b)),
        };
        if let Some(beside) = a.beside(op, &b) {
            beside
        } else if a.is_all(decides) || b.is_all(leaves) {
            a
        } else if b.is_all(decides) || a.is_all(leaves) {
            b
        } else {
            Self::Binary(op, Box::new(a), Box::new(b))
        }
    }

    /// A shift; of parts side by side, by a constant, other parts side by side.
    pub fn shift(op: &'static str, a: Self, by: Self) -> Self {
        let width = a.width();
        let places = by.constant().and_then(|by| u32::try_from(by).ok()).filter(|by| *by < width);
        let moved = match (&a, places, op) {
            (Self::Concat(_), Some(by), "<<") => a.cut(0, width - by).map(|kept| vec![kept, Self::zero(by)]),
            (Self::Concat(_), Some(by), ">>") => a.cut(by, width - by).map(|kept| vec![Self::zero(by), kept]),
            _ => None,
        };
        moved.map_or_else(|| Self::Shift(op, Box::new(a), Box::new(by)), Self::concat)
    }

    /// `self | other`, where each has parts that are zero in the other: these parts side by side.
    fn beside(&self, op: &str, other: &Self) -> Option<Self> {
        let (Self::Concat(parts), Self::Concat(others), "|") = (self, other, op) else { return None };
        let mut bounds = BTreeSet::from([0]);
        for parts in [parts, others] {
            let mut bound = 0;
            bounds.extend(parts.iter().rev().map(|part| {
                bound += part.width();
                bound
            }));
        }
        let bounds: Vec<u32> = bounds.into_iter().collect();
        let part = |ends: &[u32]| {
            let (a, b) = (self.cut(ends[0], ends[1] - ends[0])?, other.cut(ends[0], ends[1] - ends[0])?);
            match (a.is_all(false), b.is_all(false)) {
                (true, _) => Some(b),
                (_, true) => Some(a),
                _ => None,
            }
        };
        bounds.windows(2).rev().map(part).collect::<Option<Vec<_>>>().map(Self::concat)
    }

    /// `~a`.
    pub fn not(a: Self) -> Self {
        match a {
            Self::Literal(1, digits) => Self::Literal(1, if digits == "0" { "1" } else { "0" }.into()),
            Self::Not(a) => *a,
            a => Self::Not(Box::new(a)),
        }
    }

    /// Whether any bit is set. Of a part that a mask leaves, it is the part.
    pub fn any(a: Self) -> Self {
        if a.is_all(false) {
            return Self::zero(1);
        }
        let Self::Binary("&", x, mask) = &a else { return Self::Reduce("|", Box::new(a)) };
        let part = mask.constant().filter(|mask| *mask != 0).and_then(|mask| {
            let (lo, width) = (mask.trailing_zeros(), mask.count_ones());
            (mask >> lo == u128::MAX >> (128 - width)).then(|| x.cut(lo, width)).flatten()
        });
        match part {
            Some(part) if part.width() == 1 => part,
            Some(part) => Self::Reduce("|", Box::new(part)),
            None => Self::Reduce("|", Box::new(a)),
        }
    }

    /// Whether it is a constant of all zeros, or all ones.
    fn is_all(&self, ones: bool) -> bool {
        let Self::Literal(width, digits) = self else { return false };
        if ones { self.constant().is_some_and(|v| v.count_ones() == *width) } else { digits == "0" }
    }

    /// Parts side by side, the most significant first, in one pair of braces; those of no width fall out, and what is next to each other
    /// in a literal or a signal is one part.
    pub fn concat(parts: Vec<Self>) -> Self {
        let flat = |part| if let Self::Concat(parts) = part { parts } else { vec![part] };
        let mut joined: Vec<Self> = Vec::new();
        for part in parts.into_iter().flat_map(flat).filter(|part| part.width() > 0) {
            match joined.last().and_then(|last| last.join(&part)) {
                Some(both) => {
                    *joined.last_mut().unwrap_or_else(|| unreachable!("there is a last one")) = both
                }
                None => joined.push(part),
            }
        }
        if joined.len() == 1 { joined.remove(0) } else { Self::Concat(joined) }
    }

    /// Itself and `low` below it, where both are literals or neighbouring bits of a signal.
    fn join(&self, low: &Self) -> Option<Self> {
        let width = self.width() + low.width();
        match (self, low) {
            (Self::Literal(..), Self::Literal(..)) if width <= 128 => {
                let value = self.constant()?.checked_shl(low.width()).unwrap_or(0) | low.constant()?;
                Some(Self::Literal(width, format!("{value:x}")))
            }
            (Self::Slice(high, from, ..), Self::Slice(key, lo, below, of))
                if high == key && *from == lo + below =>
            {
                Some(if width == *of {
                    Self::Signal(key.clone(), width)
                } else {
                    Self::Slice(key.clone(), *lo, width, *of)
                })
            }
            _ => None,
        }
    }

    /// A literal's value, where 128 bits hold it.
    pub fn constant(&self) -> Option<u128> {
        let Self::Literal(_, digits) = self else { return None };
        u128::from_str_radix(digits, 16).ok()
    }

    /// Bits `lo .. lo + width`, where they can be written without a name for the whole.
    pub fn cut(&self, lo: u32, width: u32) -> Option<Self> {
        let whole = self.width();
        if width == 0 {
            return Some(Self::zero(0));
        }
        if lo == 0 && width == whole {
            return Some(self.clone());
        }
        match self {
            Self::Literal(..) => {
                let value = self.constant()?.checked_shr(lo).unwrap_or(0);
                let value = if width < 128 { value & ((1 << width) - 1) } else { value };
                Some(Self::Literal(width, format!("{value:x}")))
            }
            Self::Signal(key, _) => Some(Self::Slice(key.clone(), lo, width, whole)),
            Self::Slice(key, from, _, of) => Some(Self::Slice(key.clone(), from + lo, width, *of)),
            Self::Not(a) => a.cut(lo, width).map(Self::not),
            Self::Binary(op @ ("&" | "|" | "^"), a, b) => {
                Some(Self::binary(op, a.cut(lo, width)?, b.cut(lo, width)?))
            }
            Self::Shift(">>", a, by) => {
                let from = u32::try_from(by.constant()?).ok()?.checked_add(lo)?;
                let have = whole.saturating_sub(from).min(width);
                Some(Self::concat(vec![Self::zero(width - have), a.cut(from, have)?]))
            }
            Self::Concat(parts) => {
                let mut found = Vec::new();
                let mut top = whole;
                for part in parts {
                    let bottom = top - part.width();
                    let (from, to) = (lo.max(bottom), (lo + width).min(top));
                    if from < to {
                        found.push(part.cut(from - bottom, to - from)?);
                    }
                    top = bottom;
                }
                Some(Self::concat(found))
            }
            _ => None,
        }
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
                see(key, None);
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
        matches!(self, Self::Literal(..) | Self::Signal(..) | Self::Slice(..))
    }
}

/// A statement of an `update`, loops unrolled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stmt {
    /// What is said of the next statements; one line or several.
    Comment(String),
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
    /// Whether it only says something.
    pub fn is_comment(&self) -> bool {
        matches!(self, Self::Comment(_))
    }

    /// Calls `see` with every signal that the statement reads. Setting one bit reads the others.
    pub fn reads(&self, see: &mut dyn FnMut(&str)) {
        match self {
            Self::Comment(_) => {}
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
            Self::Comment(_) => {}
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
            Self::Comment(_) => {}
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
    /// What is said of the logic that follows.
    Comment(String),
    /// `assign target = value;`
    Assign(String, Expr),
    /// `always @(*)` over these statements, in order; the targets they write.
    Process(Vec<String>, Vec<Stmt>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_taken_without_a_name_where_verilog_can() {
        let signal = |name: &str, width| Expr::Signal(name.into(), width);
        let slice = |lo, width| Expr::Slice("a".into(), lo, width, 8);
        let literal = |width, digits: &str| Expr::Literal(width, digits.into());
        let sum = || Expr::Binary("+", Box::new(signal("a", 8)), Box::new(signal("b", 8)));
        let right = |by: &str| Expr::Shift(">>", Box::new(signal("a", 8)), Box::new(literal(8, by)));
        assert_eq!(signal("a", 8).cut(0, 8), Some(signal("a", 8)));
        assert_eq!(slice(2, 5).cut(1, 3), Some(slice(3, 3)));
        assert_eq!(literal(8, "a5").cut(4, 4), Some(literal(4, "a")));
        assert_eq!(literal(200, "a5").cut(150, 9), Some(literal(9, "0")));
        assert_eq!(right("3").cut(1, 4), Some(slice(4, 4)));
        assert_eq!(right("6").cut(0, 4), Some(Expr::Concat(vec![literal(2, "0"), slice(6, 2)])));
        assert_eq!(right("ff").cut(0, 4), Some(literal(4, "0")));
        let joined = Expr::concat(vec![literal(2, "2"), sum(), slice(0, 4)]);
        assert_eq!(joined.width(), 14);
        assert_eq!(joined.cut(2, 10), Some(Expr::Concat(vec![sum(), slice(2, 2)])));
        assert_eq!(joined.cut(13, 1), Some(literal(1, "1")));
        assert_eq!(joined.cut(5, 3), None);
        assert_eq!(sum().cut(0, 4), None);
        let masked = Expr::binary("&", Expr::not(signal("a", 8)), literal(8, "f3"));
        assert_eq!(masked.cut(4, 2), Some(Expr::not(slice(4, 2))));
        assert_eq!(masked.cut(2, 2), Some(literal(2, "0")));
        assert_eq!(Expr::binary("|", masked, sum()).cut(2, 2), None);
    }

    #[test]
    fn constants_are_worked_out() {
        let a = || Expr::Signal("a".into(), 8);
        let slice = |lo, width| Expr::Slice("a".into(), lo, width, 8);
        let literal = |width, digits: &str| Expr::Literal(width, digits.into());
        let any = |mask: &str| Expr::any(Expr::binary("&", a(), literal(8, mask)));
        assert_eq!(any("8"), slice(3, 1));
        assert_eq!(any("3c"), Expr::Reduce("|", Box::new(slice(2, 4))));
        assert_eq!(any("ff"), Expr::Reduce("|", Box::new(a())));
        assert_eq!(any("0"), literal(1, "0"));
        let apart = || Expr::binary("&", a(), literal(8, "5"));
        assert_eq!(any("5"), Expr::Reduce("|", Box::new(apart())));
        for (op, mask, result) in
            [("&", "ff", a()), ("&", "0", literal(8, "0")), ("|", "0", a()), ("|", "ff", literal(8, "ff"))]
        {
            assert_eq!(Expr::binary(op, a(), literal(8, mask)), result);
            assert_eq!(Expr::binary(op, literal(8, mask), a()), result);
        }
        let [high, low, both] =
            [vec![a(), literal(4, "0")], vec![literal(8, "0"), slice(1, 4)], vec![a(), slice(1, 4)]];
        let [high, low, both] = [high, low, both].map(Expr::concat);
        assert_eq!(Expr::binary("|", high.clone(), low.clone()), both);
        assert_eq!(Expr::binary("|", low.clone(), high.clone()), both);
        for op in ["&", "^"] {
            assert!(matches!(Expr::binary(op, low.clone(), high.clone()), Expr::Binary(..)));
        }
        let over = Expr::concat(vec![literal(4, "0"), a()]);
        assert!(matches!(Expr::binary("|", high, over), Expr::Binary(..)));
        let wide = Expr::concat(vec![literal(4, "0"), a()]);
        let moved = |op, by| Expr::shift(op, wide.clone(), literal(4, by));
        assert_eq!(moved("<<", "4"), Expr::Concat(vec![a(), literal(4, "0")]));
        assert_eq!(moved("<<", "6"), Expr::Concat(vec![slice(0, 6), literal(6, "0")]));
        assert_eq!(moved(">>", "3"), Expr::Concat(vec![literal(7, "0"), slice(3, 5)]));
        assert!(matches!(moved("<<", "c"), Expr::Shift(..)));
        assert!(matches!(Expr::shift("<<", a(), literal(2, "1")), Expr::Shift(..)));
        assert_eq!(Expr::concat(vec![slice(4, 4), slice(0, 4)]), a());
        assert_eq!(Expr::not(Expr::not(a())), a());
        assert_eq!(Expr::not(literal(1, "0")), literal(1, "1"));
        for op in ["^", "+", "-"] {
            let zero = literal(8, "0");
            assert_eq!(Expr::binary(op, a(), zero.clone()), Expr::Binary(op, Box::new(a()), Box::new(zero)));
        }
    }
}
