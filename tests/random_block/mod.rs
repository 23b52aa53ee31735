//! Random well-formed blocks: the same program as a rust-hdl block that interprets it with rust-hdl's own numbers, and as the
//! syntax tree that the emitter is given. Whatever can be written with `#[hdl_gen]` on unsigned values can come out of it.
//!
//! The fuzz target `emitter` uses this file, too.

mod program;
mod verilog;

use program::{Class, Expr, Index, Op, Program, Reduction, Stmt, Test};
use rust_hdl::core::ast::{
    Verilog, VerilogBlockOrConditional, VerilogCase, VerilogConditional, VerilogExpression, VerilogLiteral,
    VerilogLoop, VerilogMatch, VerilogOp, VerilogOpUnary, VerilogStatement,
};
use rust_hdl::prelude::*;
use windlass_cosim::stimulus::Rng;
use windlass_gen::emit;
use windlass_rtl::flat::{FlatPorts, RustHdlSim};
use windlass_rtl::flat_ports;
use windlass_rtl::info::Info;
use windlass_rtl::model::CycleModel;
use windlass_rtl::port::{Direction, Layout};

/// A value of one of the widths, as rust-hdl computes with it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Value {
    B1(bool),
    B3(Bits<3>),
    B5(Bits<5>),
    B8(Bits<8>),
    B32(Bits<32>),
    B33(Bits<33>),
    B70(Bits<70>),
}

/// Does `$do` with the bits of `$value`, which is no `bool`.
macro_rules! bits {
    ($value:expr, |$x:ident| $do:expr) => {
        match $value {
            Value::B1(_) => unreachable!("a bool where bits are wanted"),
            Value::B3($x) => $do,
            Value::B5($x) => $do,
            Value::B8($x) => $do,
            Value::B32($x) => $do,
            Value::B33($x) => $do,
            Value::B70($x) => $do,
        }
    };
}

/// Makes a value of `$do`, which is bits of the width of `$value`.
macro_rules! map {
    ($value:expr, |$x:ident| $do:expr) => {
        match $value {
            Value::B1(_) => unreachable!("a bool where bits are wanted"),
            Value::B3($x) => Value::B3($do),
            Value::B5($x) => Value::B5($do),
            Value::B8($x) => Value::B8($do),
            Value::B32($x) => Value::B32($do),
            Value::B33($x) => Value::B33($do),
            Value::B70($x) => Value::B70($do),
        }
    };
}

/// Does `$do` with the bits of two values of one width.
macro_rules! both {
    ($a:expr, $b:expr, |$x:ident, $y:ident| $do:expr) => {
        match ($a, $b) {
            (Value::B3($x), Value::B3($y)) => $do,
            (Value::B5($x), Value::B5($y)) => $do,
            (Value::B8($x), Value::B8($y)) => $do,
            (Value::B32($x), Value::B32($y)) => $do,
            (Value::B33($x), Value::B33($y)) => $do,
            (Value::B70($x), Value::B70($y)) => $do,
            other => unreachable!("two widths: {other:?}"),
        }
    };
}

/// Bits of `$width`, a number at run time, from `$do`, in which `$N` is that width.
macro_rules! of_width {
    ($width:expr, |$n:ident| $do:expr) => {
        match $width {
            3 => Value::B3({
                const $n: usize = 3;
                $do
            }),
            5 => Value::B5({
                const $n: usize = 5;
                $do
            }),
            8 => Value::B8({
                const $n: usize = 8;
                $do
            }),
            32 => Value::B32({
                const $n: usize = 32;
                $do
            }),
            33 => Value::B33({
                const $n: usize = 33;
                $do
            }),
            70 => Value::B70({
                const $n: usize = 70;
                $do
            }),
            other => unreachable!("no value of {other} bits"),
        }
    };
}

fn cast<const N: usize>(x: Bits<N>, width: usize) -> Value {
    of_width!(width, |M| bit_cast::<M, N>(x))
}

fn part<const N: usize>(x: Bits<N>, width: usize, at: usize) -> Value {
    of_width!(width, |M| x.get_bits::<M>(at))
}

impl Value {
    fn literal(width: usize, value: u64) -> Self {
        match width {
            1 => Self::B1(value & 1 == 1),
            _ => of_width!(width, |N| Bits::<N>::from(value)),
        }
    }

    fn bool(self) -> bool {
        match self {
            Self::B1(value) => value,
            other => unreachable!("{other:?} where a bool is wanted"),
        }
    }

    fn index(self) -> usize {
        bits!(self, |x| x.index())
    }
}

macro_rules! random_block {
    (
        inputs { $($input:ident $in_variant:ident [$($in_type:tt)*] $in_width:literal;)* }
        constants { $($constant:ident $c_variant:ident [$($c_type:tt)*] $c_width:literal;)* }
        locals { $($local:ident $l_variant:ident [$($l_type:tt)*] $l_width:literal;)* }
        outputs { $($output:ident $o_variant:ident [$($o_type:tt)*] $o_width:literal;)* }
    ) => {
        /// A random program as a block.
        #[derive(LogicBlock)]
        pub struct RandomBlock {
            info: Info,
            program: Code,
            $(pub $input: Signal<In, $($in_type)*>,)*
            $($constant: Constant<$($c_type)*>,)*
            $($local: Signal<Local, $($l_type)*>,)*
            $(pub $output: Signal<Out, $($o_type)*>,)*
        }

        /// Every name that a program can use.
        const SYMBOLS: &[program::Symbol] = &[
            $(program::Symbol { name: stringify!($input), class: Class::Input, width: $in_width },)*
            $(program::Symbol { name: stringify!($constant), class: Class::Input, width: $c_width },)*
            $(program::Symbol { name: stringify!($local), class: Class::Local, width: $l_width },)*
            $(program::Symbol { name: stringify!($output), class: Class::Output, width: $o_width },)*
        ];

        impl RandomBlock {
            /// The block that these bytes choose; `case` is part of its name.
            pub fn new(case: usize, bytes: &[u8]) -> Self {
                let mut choices = program::Choices::new(bytes);
                let constants = SYMBOLS.iter().map(|_| choices.wide()).collect::<Vec<u64>>();
                let mut constants = constants.into_iter();
                Self {
                    info: Info::module("random", "").param("CASE", "c", case),
                    $($input: Default::default(),)*
                    $($constant: Constant::new(
                        match Value::literal($c_width, program::fits(constants.next().unwrap_or(0), $c_width)) {
                            Value::$c_variant(value) => value,
                            other => unreachable!("{other:?}"),
                        }
                    ),)*
                    $($local: Default::default(),)*
                    $($output: Default::default(),)*
                    program: Code(Program::new(SYMBOLS, &mut choices)),
                }
            }

            fn get(&self, symbol: usize) -> Value {
                match SYMBOLS[symbol].name {
                    $(stringify!($input) => Value::$in_variant(self.$input.val()),)*
                    $(stringify!($constant) => Value::$c_variant(self.$constant.val()),)*
                    $(stringify!($local) => Value::$l_variant(self.$local.val()),)*
                    $(stringify!($output) => Value::$o_variant(self.$output.val()),)*
                    other => unreachable!("{other}"),
                }
            }

            fn set(&mut self, symbol: usize, value: Value) {
                match (SYMBOLS[symbol].name, value) {
                    $((stringify!($local), Value::$l_variant(value)) => self.$local.next = value,)*
                    $((stringify!($output), Value::$o_variant(value)) => self.$output.next = value,)*
                    other => unreachable!("{other:?}"),
                }
            }

            fn drive(&mut self) {
                $(self.$local.connect();)*
                $(self.$output.connect();)*
            }
        }

        flat_ports! { impl [] for RandomBlock: - $($input)* $($output)* }
    };
}

random_block! {
    inputs {
        t_i B1 [Bit] 1;
        u_i B1 [Bit] 1;
        a3_i B3 [Bits<3>] 3;
        a5_i B5 [Bits<5>] 5;
        a8_i B8 [Bits<8>] 8;
        b8_i B8 [Bits<8>] 8;
        a32_i B32 [Bits<32>] 32;
        a33_i B33 [Bits<33>] 33;
        b33_i B33 [Bits<33>] 33;
        a70_i B70 [Bits<70>] 70;
    }
    constants {
        c8 B8 [Bits<8>] 8;
        c33 B33 [Bits<33>] 33;
        c70 B70 [Bits<70>] 70;
    }
    locals {
        l1 B1 [Bit] 1;
        l3 B3 [Bits<3>] 3;
        l5 B5 [Bits<5>] 5;
        l8 B8 [Bits<8>] 8;
        m8 B8 [Bits<8>] 8;
        l33 B33 [Bits<33>] 33;
        l70 B70 [Bits<70>] 70;
    }
    outputs {
        y1_o B1 [Bit] 1;
        z1_o B1 [Bit] 1;
        y3_o B3 [Bits<3>] 3;
        y8_o B8 [Bits<8>] 8;
        y32_o B32 [Bits<32>] 32;
        y33_o B33 [Bits<33>] 33;
        y70_o B70 [Bits<70>] 70;
    }
}

/// The program as a field of its block: not part of the circuit.
struct Code(Program);

impl Logic for Code {
    fn update(&mut self) {}
}

impl Block for Code {
    fn connect_all(&mut self) {}
    fn update_all(&mut self) {}
    fn has_changed(&self) -> bool {
        false
    }
    fn accept(&self, _name: &str, _probe: &mut dyn Probe) {}
}

impl Logic for RandomBlock {
    fn update(&mut self) {
        let program = std::mem::take(&mut self.program.0);
        self.run(&program.0, 0);
        self.program.0 = program;
    }

    fn connect(&mut self) {
        self.drive();
    }

    fn hdl(&self) -> Verilog {
        Verilog::Combinatorial(statements(&self.program.0.0))
    }
}

// ---- the program, run

impl RandomBlock {
    /// `i` is the loop's index.
    fn run(&mut self, stmts: &[Stmt], i: usize) {
        for stmt in stmts {
            match stmt {
                Stmt::Assign(target, value) => {
                    let value = self.value(value, i);
                    self.set(*target, value);
                }
                Stmt::If(test, then, otherwise) => {
                    let taken = if self.value(test, i).bool() { then } else { otherwise };
                    self.run(taken, i);
                }
                Stmt::Match(test, cases, default) => {
                    let value = bits!(self.value(test, i), |x| x.to_u64());
                    let taken =
                        cases.iter().find(|(case, _)| *case == value).map_or(default, |(_, block)| block);
                    self.run(taken, i);
                }
                Stmt::Loop(from, to, block) => {
                    for i in *from..*to {
                        self.run(block, i);
                    }
                }
            }
        }
    }

    fn index(&self, index: &Index, i: usize) -> usize {
        match index {
            Index::Number(n) => *n,
            Index::Loop => i,
            Index::Value(value) => self.value(value, i).index(),
        }
    }

    fn value(&self, expr: &Expr, i: usize) -> Value {
        let of = |expr: &Expr| self.value(expr, i);
        match expr {
            Expr::Symbol(symbol) => self.get(*symbol),
            Expr::Literal(width, value) => Value::literal(*width, *value),
            Expr::Not(a) => match of(a) {
                Value::B1(a) => Value::B1(!a),
                a => map!(a, |x| !x),
            },
            Expr::Binary(op, a, b) => binary(*op, of(a), of(b)),
            Expr::WithNumber(op, a, n) => match (op, of(a)) {
                (Op::Add, a) => map!(a, |x| x + *n),
                (Op::Sub, a) => map!(a, |x| x - *n),
                (Op::And, a) => map!(a, |x| x & *n),
                (Op::Or, a) => map!(a, |x| x | *n),
                (Op::Xor, a) => map!(a, |x| x ^ *n),
            },
            Expr::Test(test, a, b) => Value::B1(compare(*test, of(a), of(b))),
            Expr::TestNumber(test, a, n) => {
                let b = bits!(of(a), |x| cast(x, 70));
                Value::B1(compare(*test, b, Value::literal(70, *n)))
            }
            Expr::Logical(true, a, b) => Value::B1(of(a).bool() && of(b).bool()),
            Expr::Logical(false, a, b) => Value::B1(of(a).bool() || of(b).bool()),
            Expr::Reduce(reduction, a) => Value::B1(bits!(of(a), |x| match reduction {
                Reduction::All => x.all(),
                Reduction::Any => x.any(),
                Reduction::Xor => x.xor(),
            })),
            Expr::Shift(left, a, by) => bits!(of(by), |by| {
                if *left { map!(of(a), |x| x << by) } else { map!(of(a), |x| x >> by) }
            }),
            Expr::ShiftNumber(true, a, by) => map!(of(a), |x| x << *by),
            Expr::ShiftNumber(false, a, by) => map!(of(a), |x| x >> *by),
            Expr::Carry(a, b) => {
                let b = of(b).bool();
                map!(of(a), |x| x + b)
            }
            Expr::Cast(a, width) => bits!(of(a), |x| cast(x, *width)),
            Expr::Bit(a, index) => Value::B1(bits!(of(a), |x| x.get_bit(self.index(index, i)))),
            Expr::Part(a, width, index) => bits!(of(a), |x| part(x, *width, self.index(index, i))),
            Expr::Replace(a, index, bit) => {
                let (index, bit) = (self.index(index, i), of(bit).bool());
                map!(of(a), |x| x.replace_bit(index, bit))
            }
        }
    }
}

fn binary(op: Op, a: Value, b: Value) -> Value {
    if let (Value::B1(a), Value::B1(b)) = (a, b) {
        return Value::B1(match op {
            Op::And => a & b,
            Op::Or => a | b,
            Op::Xor => a ^ b,
            Op::Add | Op::Sub => unreachable!("arithmetic on bools"),
        });
    }
    macro_rules! apply {
        ($($variant:ident)*) => {
            match (a, b) {
                $((Value::$variant(a), Value::$variant(b)) => Value::$variant(match op {
                    Op::Add => a + b,
                    Op::Sub => a - b,
                    Op::And => a & b,
                    Op::Or => a | b,
                    Op::Xor => a ^ b,
                }),)*
                other => unreachable!("two widths: {other:?}"),
            }
        };
    }
    apply!(B3 B5 B8 B32 B33 B70)
}

fn compare(test: Test, a: Value, b: Value) -> bool {
    if let (Value::B1(a), Value::B1(b)) = (a, b) {
        return if test == Test::Ne { a != b } else { a == b };
    }
    both!(a, b, |x, y| match test {
        Test::Eq => x == y,
        Test::Ne => x != y,
        Test::Lt => x < y,
        Test::Le => x <= y,
        Test::Gt => x > y,
        Test::Ge => x >= y,
    })
}

// ---- the program, written down

fn statements(stmts: &[Stmt]) -> Vec<VerilogStatement> {
    stmts.iter().map(statement).collect()
}

fn statement(stmt: &Stmt) -> VerilogStatement {
    match stmt {
        Stmt::Assign(target, value) => {
            let target = VerilogExpression::Signal(format!("{}$next", SYMBOLS[*target].name));
            VerilogStatement::Assignment(target, expression(value))
        }
        Stmt::If(test, then, otherwise) => VerilogStatement::If(VerilogConditional {
            test: expression(test),
            then: statements(then),
            otherwise: match &otherwise[..] {
                [] => VerilogBlockOrConditional::None,
                // `else if`.
                [next @ Stmt::If(..)] => VerilogBlockOrConditional::Conditional(Box::new(statement(next))),
                block => VerilogBlockOrConditional::Block(statements(block)),
            },
        }),
        Stmt::Match(test, cases, default) => {
            let case =
                |condition: String, block: &[Stmt]| VerilogCase { condition, block: statements(block) };
            let mut all: Vec<VerilogCase> =
                cases.iter().map(|(value, block)| case(value.to_string(), block)).collect();
            all.push(case("default".into(), default));
            VerilogStatement::Match(VerilogMatch { test: expression(test), cases: all })
        }
        Stmt::Loop(from, to, block) => VerilogStatement::Loop(VerilogLoop {
            index: "i".into(),
            from: (*from).into(),
            to: (*to).into(),
            block: statements(block),
        }),
    }
}

fn number(value: u64) -> Box<VerilogExpression> {
    Box::new(VerilogExpression::Literal(VerilogLiteral::from(value)))
}

fn index(index: &Index) -> Box<VerilogExpression> {
    match index {
        Index::Number(n) => number(*n as u64),
        Index::Loop => Box::new(VerilogExpression::Signal("i".into())),
        Index::Value(value) => Box::new(expression(value)),
    }
}

fn expression(expr: &Expr) -> VerilogExpression {
    use VerilogExpression as V;
    let of = |expr: &Expr| Box::new(V::Paren(Box::new(expression(expr))));
    let op = |op: Op| match op {
        Op::Add => VerilogOp::Add,
        Op::Sub => VerilogOp::Sub,
        Op::And => VerilogOp::BitAnd,
        Op::Or => VerilogOp::BitOr,
        Op::Xor => VerilogOp::BitXor,
    };
    let test = |test: Test| match test {
        Test::Eq => VerilogOp::Eq,
        Test::Ne => VerilogOp::Ne,
        Test::Lt => VerilogOp::Lt,
        Test::Le => VerilogOp::Le,
        Test::Gt => VerilogOp::Gt,
        Test::Ge => VerilogOp::Ge,
    };
    let shift = |left: bool| if left { VerilogOp::Shl } else { VerilogOp::Shr };
    match expr {
        Expr::Symbol(symbol) => V::Signal(SYMBOLS[*symbol].name.into()),
        Expr::Literal(1, value) => V::Literal(VerilogLiteral::from(value & 1 == 1)),
        Expr::Literal(width, value) => V::Cast(number(*value), *width),
        Expr::Not(a) => V::Unary(VerilogOpUnary::Not, of(a)),
        Expr::Binary(o, a, b) => V::Binary(of(a), op(*o), of(b)),
        Expr::WithNumber(o, a, n) => V::Binary(of(a), op(*o), number(*n)),
        Expr::Test(t, a, b) => V::Binary(of(a), test(*t), of(b)),
        Expr::TestNumber(t, a, n) => V::Binary(of(a), test(*t), number(*n)),
        Expr::Logical(and, a, b) => {
            V::Binary(of(a), if *and { VerilogOp::LogicalAnd } else { VerilogOp::LogicalOr }, of(b))
        }
        Expr::Reduce(reduction, a) => {
            let op = match reduction {
                Reduction::All => VerilogOpUnary::All,
                Reduction::Any => VerilogOpUnary::Any,
                Reduction::Xor => VerilogOpUnary::Xor,
            };
            V::Unary(op, of(a))
        }
        Expr::Shift(left, a, by) => V::Binary(of(a), shift(*left), of(by)),
        Expr::ShiftNumber(left, a, by) => V::Binary(of(a), shift(*left), number(*by)),
        Expr::Carry(a, b) => V::Binary(of(a), VerilogOp::Add, of(b)),
        Expr::Cast(a, width) => V::Cast(of(a), *width),
        Expr::Bit(a, at) => V::Index(of(a), index(at)),
        Expr::Part(a, width, at) => V::Slice(of(a), *width, index(at)),
        // As `hdl_gen` writes it where the base is the target itself.
        Expr::Replace(a, at, bit) if matches!(**a, Expr::Symbol(_)) => {
            V::IndexReplace(Box::new(expression(a)), index(at), of(bit))
        }
        Expr::Replace(a, at, bit) => V::IndexReplace(of(a), index(at), of(bit)),
    }
}

// ---- the text, run

/// Emits the block, and runs its text and rust-hdl's simulation on the same inputs; panics where they differ.
///
/// `block` and `same` are the same block: one is simulated, one is emitted.
pub fn check(block: RandomBlock, same: RandomBlock, seed: u64) {
    check_changed(block, same, seed, |text| text);
}

/// As [`check`], with the text changed before it is run.
pub fn check_changed(
    block: RandomBlock,
    mut same: RandomBlock,
    seed: u64,
    change: impl Fn(String) -> String,
) {
    same.connect_all();
    let design = emit::emit(&same).unwrap_or_else(|e| panic!("a well-formed block is refused: {e}"));
    let again = emit::emit(&same).unwrap_or_else(|e| panic!("the second time: {e}"));
    assert_eq!(design, again, "two emissions differ");
    let text = change(design.verilog());
    let module = verilog::Module::parse(&text);
    let ports = same.ports();
    let (inputs, outputs) = (Layout::new(&ports, Direction::Input), Layout::new(&ports, Direction::Output));
    let mut simulation = RustHdlSim::new(block);
    let (mut rng, mut now, mut out) = (Rng::new(seed), vec![0; inputs.words()], vec![0; outputs.words()]);
    for cycle in 0..16 {
        for (_, slot) in inputs.iter() {
            match cycle {
                0 => slot.copy_from(&mut now, &[u32::MAX; 3]),
                1 => slot.copy_from(&mut now, &[0; 3]),
                _ => rng.fill(slot, &mut now),
            }
        }
        simulation.cycle(&now, &mut out).unwrap_or_else(|e| panic!("rust-hdl: {e}"));
        let given = inputs.iter().map(|(name, slot)| (name.to_string(), slot.get(&now)));
        let found = module.run(&given.collect());
        for (name, slot) in outputs.iter() {
            let (found, wanted) = (found[name], slot.get(&out));
            assert_eq!(
                found, wanted,
                "{name} in cycle {cycle}: Verilog has {found:x}, rust-hdl {wanted:x}\n{text}"
            );
        }
    }
}
