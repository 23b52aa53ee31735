//! Runs the text of one combinational module by the rules of Verilog-2005, which know nothing of the emitter: precedence of
//! operators, widths by context, truncation where assigned. Only what such a module is made of is understood; the rest panics.

use std::collections::BTreeMap;

type Values = BTreeMap<String, u128>;

#[derive(Debug)]
enum Expr {
    Name(String),
    Bit(String, Box<Expr>),
    Slice(String, u32, u32),
    Number(u32, u128),
    Unary(String, Box<Expr>),
    Binary(String, Box<Expr>, Box<Expr>),
    Choice(Box<Expr>, Box<Expr>, Box<Expr>),
    Concat(Vec<Expr>),
}

#[derive(Debug)]
enum Stmt {
    /// The name, the bit where only one is meant, the value.
    Assign(String, Option<u32>, Expr),
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    Case(Expr, Vec<(Expr, Vec<Stmt>)>, Vec<Stmt>),
}

/// A module.
pub struct Module {
    widths: BTreeMap<String, u32>,
    outputs: Vec<String>,
    /// Continuous assignments and processes.
    logic: Vec<Vec<Stmt>>,
}

fn cut(value: u128, width: u32) -> u128 {
    if width >= 128 { value } else { value & ((1 << width) - 1) }
}

impl Module {
    pub fn parse(text: &str) -> Self {
        let tokens = tokens(text);
        let mut parser = Parser { tokens: &tokens, at: 0 };
        let mut module = Self { widths: BTreeMap::new(), outputs: Vec::new(), logic: Vec::new() };
        parser.expect("module");
        parser.next();
        parser.expect("(");
        loop {
            let output = match parser.next() {
                "input" => false,
                "output" => true,
                other => panic!("a port begins with {other}"),
            };
            parser.expect("wire");
            let width = parser.range();
            let name = parser.next().to_string();
            module.outputs.extend(output.then(|| name.clone()));
            module.widths.insert(name, width);
            if parser.next() == ")" {
                break;
            }
        }
        parser.expect(";");
        loop {
            match parser.next() {
                "endmodule" => return module,
                "wire" | "reg" => {
                    let width = parser.range();
                    let name = parser.next().to_string();
                    if parser.next() == "=" {
                        // What is gathered so that lints know it is not used.
                        while parser.next() != ";" {}
                    }
                    module.widths.insert(name, width);
                }
                "assign" => {
                    let stmt = parser.assignment();
                    module.logic.push(vec![stmt]);
                }
                "always" => {
                    for token in ["@", "(", "*", ")"] {
                        parser.expect(token);
                    }
                    let block = parser.block();
                    module.logic.push(block);
                }
                other => panic!("{other} in a module"),
            }
        }
    }

    /// The outputs for these inputs. Whatever the signals were before must not matter.
    pub fn run(&self, inputs: &Values) -> Values {
        let from = |initial: u128| {
            let mut values: Values =
                self.widths.iter().map(|(name, width)| (name.clone(), cut(initial, *width))).collect();
            values.extend(inputs.iter().map(|(name, value)| (name.clone(), *value)));
            for _ in 0..1000 {
                let before = values.clone();
                for logic in &self.logic {
                    self.execute(logic, &mut values);
                }
                if values == before {
                    return values;
                }
            }
            panic!("the text does not settle");
        };
        let (low, high) = (from(0), from(u128::MAX));
        let of = |values: &Values| -> Values {
            self.outputs.iter().map(|name| (name.clone(), values[name])).collect()
        };
        assert_eq!(of(&low), of(&high), "an output remembers");
        of(&low)
    }

    fn execute(&self, stmts: &[Stmt], values: &mut Values) {
        for stmt in stmts {
            match stmt {
                Stmt::Assign(name, None, value) => {
                    let width = self.widths[name];
                    let value = self.value(value, self.width(value).max(width), values);
                    values.insert(name.clone(), cut(value, width));
                }
                Stmt::Assign(name, Some(bit), value) => {
                    assert!(*bit < self.widths[name], "bit {bit} of {name}");
                    let value = cut(self.value(value, self.width(value), values), 1);
                    let old = values[name];
                    values.insert(name.clone(), old & !(1 << bit) | value << bit);
                }
                Stmt::If(test, then, otherwise) => {
                    let taken = self.value(test, self.width(test), values) != 0;
                    self.execute(if taken { then } else { otherwise }, values);
                }
                Stmt::Case(test, cases, default) => {
                    let widths = cases.iter().map(|(case, _)| self.width(case));
                    let width = widths.fold(self.width(test), u32::max);
                    let value = self.value(test, width, values);
                    let taken = cases.iter().find(|(case, _)| self.value(case, width, values) == value);
                    let taken = taken.map_or(default, |(_, block)| block);
                    self.execute(taken, values);
                }
            }
        }
    }

    /// The width that an expression has by itself.
    fn width(&self, expr: &Expr) -> u32 {
        match expr {
            Expr::Name(name) => *self.widths.get(name).unwrap_or_else(|| panic!("{name} is not declared")),
            Expr::Bit(..) => 1,
            Expr::Slice(_, high, low) => high - low + 1,
            Expr::Number(width, _) => *width,
            Expr::Unary(op, inner) if op == "~" => self.width(inner),
            Expr::Unary(..) => 1,
            Expr::Binary(op, a, b) => match op.as_str() {
                "+" | "-" | "&" | "|" | "^" => self.width(a).max(self.width(b)),
                "<<" | ">>" => self.width(a),
                _ => 1,
            },
            Expr::Choice(_, a, b) => self.width(a).max(self.width(b)),
            Expr::Concat(parts) => parts.iter().map(|part| self.width(part)).sum(),
        }
    }

    /// The value where the context wants so many bits, at least as many as the expression has by itself.
    fn value(&self, expr: &Expr, width: u32, values: &Values) -> u128 {
        assert!(width <= 128, "{width} bits are more than this can");
        let alone = |expr: &Expr| self.value(expr, self.width(expr), values);
        match expr {
            Expr::Name(name) => values[name],
            Expr::Bit(name, index) => {
                let index = alone(index);
                assert!(index < self.widths[name].into(), "{name}[{index}] is unknown");
                values[name] >> index & 1
            }
            Expr::Slice(name, high, low) => {
                assert!(*high < self.widths[name], "{name}[{high}:{low}] is unknown");
                cut(values[name] >> low, high - low + 1)
            }
            Expr::Number(_, value) => *value,
            Expr::Unary(op, inner) => match op.as_str() {
                "~" => cut(!self.value(inner, width, values), width),
                "!" => u128::from(alone(inner) == 0),
                "&" => u128::from(alone(inner) == cut(u128::MAX, self.width(inner))),
                "|" => u128::from(alone(inner) != 0),
                "^" => u128::from(alone(inner).count_ones() % 2),
                other => panic!("the operator {other}"),
            },
            Expr::Binary(op, a, b) => {
                let in_context = || (self.value(a, width, values), self.value(b, width, values));
                let compared = |test: fn(&u128, &u128) -> bool| {
                    let both = self.width(a).max(self.width(b));
                    u128::from(test(&self.value(a, both, values), &self.value(b, both, values)))
                };
                match op.as_str() {
                    "+" => cut(in_context().0.wrapping_add(in_context().1), width),
                    "-" => cut(in_context().0.wrapping_sub(in_context().1), width),
                    "&" => in_context().0 & in_context().1,
                    "|" => in_context().0 | in_context().1,
                    "^" => in_context().0 ^ in_context().1,
                    "<<" | ">>" => {
                        let (value, by) = (self.value(a, width, values), alone(b));
                        match u32::try_from(by).ok().filter(|by| *by < 128) {
                            None => 0,
                            Some(by) if op == "<<" => cut(value << by, width),
                            Some(by) => value >> by,
                        }
                    }
                    "==" => compared(u128::eq),
                    "!=" => compared(u128::ne),
                    "<" => compared(u128::lt),
                    "<=" => compared(u128::le),
                    ">" => compared(u128::gt),
                    ">=" => compared(u128::ge),
                    "&&" => u128::from(alone(a) != 0 && alone(b) != 0),
                    "||" => u128::from(alone(a) != 0 || alone(b) != 0),
                    other => panic!("the operator {other}"),
                }
            }
            Expr::Choice(test, a, b) => self.value(if alone(test) != 0 { a } else { b }, width, values),
            Expr::Concat(parts) => {
                parts.iter().fold(0, |value, part| value << self.width(part) | alone(part))
            }
        }
    }
}

fn tokens(text: &str) -> Vec<String> {
    let text: String =
        text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n");
    let (mut tokens, mut rest) = (Vec::new(), text.trim_start());
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '\'';
    while let Some(first) = rest.chars().next() {
        let length = if word(first) {
            rest.find(|c| !word(c)).unwrap_or(rest.len())
        } else {
            let two = rest.get(..2).unwrap_or_default();
            if ["==", "!=", "<=", ">=", "<<", ">>", "&&", "||"].contains(&two) { 2 } else { first.len_utf8() }
        };
        tokens.push(rest[..length].to_string());
        rest = rest[length..].trim_start();
    }
    tokens
}

/// Operators from the loosest to the tightest (Verilog-2005, table 5-4).
const LEVELS: [&[&str]; 9] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<", "<=", ">", ">="],
    &["<<", ">>"],
    &["+", "-"],
];

struct Parser<'a> {
    tokens: &'a [String],
    at: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> &'a str {
        self.tokens.get(self.at).map_or("", String::as_str)
    }

    fn next(&mut self) -> &'a str {
        let token = self.peek();
        assert!(!token.is_empty(), "the text ends early");
        self.at += 1;
        token
    }

    fn expect(&mut self, token: &str) {
        let found = self.next();
        assert_eq!(found, token);
    }

    fn integer(&mut self) -> u32 {
        let token = self.next();
        token.parse().unwrap_or_else(|_| panic!("{token} is no number"))
    }

    fn range(&mut self) -> u32 {
        if self.peek() != "[" {
            return 1;
        }
        self.expect("[");
        let high = self.integer();
        for token in [":", "0", "]"] {
            self.expect(token);
        }
        high + 1
    }

    fn assignment(&mut self) -> Stmt {
        let name = self.next().to_string();
        let mut bit = None;
        if self.peek() == "[" {
            self.expect("[");
            bit = Some(self.integer());
            self.expect("]");
        }
        self.expect("=");
        let value = self.expr();
        self.expect(";");
        Stmt::Assign(name, bit, value)
    }

    /// `begin`, statements, `end`.
    fn block(&mut self) -> Vec<Stmt> {
        self.expect("begin");
        let mut stmts = Vec::new();
        while self.peek() != "end" {
            stmts.push(self.statement());
        }
        self.expect("end");
        stmts
    }

    fn statement(&mut self) -> Stmt {
        match self.peek() {
            "if" => {
                self.expect("if");
                self.expect("(");
                let test = self.expr();
                self.expect(")");
                let then = self.block();
                let mut otherwise = Vec::new();
                if self.peek() == "else" {
                    self.expect("else");
                    otherwise = self.block();
                }
                Stmt::If(test, then, otherwise)
            }
            "case" => {
                self.expect("case");
                self.expect("(");
                let test = self.expr();
                self.expect(")");
                let (mut cases, mut default) = (Vec::new(), Vec::new());
                while self.peek() != "endcase" {
                    if self.peek() == "default" {
                        self.expect("default");
                        self.expect(":");
                        default = self.block();
                    } else {
                        let case = self.expr();
                        self.expect(":");
                        cases.push((case, self.block()));
                    }
                }
                self.expect("endcase");
                Stmt::Case(test, cases, default)
            }
            _ => self.assignment(),
        }
    }

    fn expr(&mut self) -> Expr {
        let test = self.level(0);
        if self.peek() != "?" {
            return test;
        }
        self.expect("?");
        let then = self.expr();
        self.expect(":");
        Expr::Choice(Box::new(test), Box::new(then), Box::new(self.expr()))
    }

    fn level(&mut self, level: usize) -> Expr {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.level(level + 1);
        while operators.contains(&self.peek()) {
            let operator = self.next().to_string();
            left = Expr::Binary(operator, Box::new(left), Box::new(self.level(level + 1)));
        }
        left
    }

    fn unary(&mut self) -> Expr {
        match self.peek() {
            "~" | "!" | "&" | "|" | "^" => {
                let operator = self.next().to_string();
                Expr::Unary(operator, Box::new(self.unary()))
            }
            _ => self.primary(),
        }
    }

    fn primary(&mut self) -> Expr {
        let token = self.next();
        match token {
            "(" => {
                let inner = self.expr();
                self.expect(")");
                inner
            }
            "{" => {
                let mut parts = vec![self.expr()];
                while self.peek() == "," {
                    self.expect(",");
                    parts.push(self.expr());
                }
                self.expect("}");
                Expr::Concat(parts)
            }
            _ if token.starts_with(|c: char| c.is_ascii_digit()) => number(token),
            name if self.peek() == "[" => {
                self.expect("[");
                let first = self.expr();
                let expr = if self.peek() == ":" {
                    self.expect(":");
                    let Expr::Number(_, high) = first else { panic!("{name}: a range of no numbers") };
                    Expr::Slice(name.into(), high as u32, self.integer())
                } else {
                    Expr::Bit(name.into(), Box::new(first))
                };
                self.expect("]");
                expr
            }
            name => Expr::Name(name.into()),
        }
    }
}

fn number(token: &str) -> Expr {
    let Some((width, digits)) = token.split_once('\'') else {
        // Without a width: that of an integer.
        return Expr::Number(32, token.parse().unwrap_or_else(|_| panic!("{token} is no number")));
    };
    let width = width.parse().unwrap_or_else(|_| panic!("{token} has no width"));
    let (base, digits) = digits.split_at(1);
    let radix = match base {
        "h" => 16,
        "b" => 2,
        "d" => 10,
        other => panic!("the base {other}"),
    };
    let value = u128::from_str_radix(digits, radix).unwrap_or_else(|_| panic!("{token} is no number"));
    assert_eq!(cut(value, width), value, "{token} does not fit");
    Expr::Number(width, value)
}
