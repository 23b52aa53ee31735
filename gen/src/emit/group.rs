//! From sized statements in their order to pieces of logic, which have none: what belongs together, and what is a continuous assignment.

use super::ir::{Expr, Logic, Stmt};
use super::lower::Symbol;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Cuts the statements into pieces of logic, each as small as the order of assignments allows.
pub fn group(stmts: Vec<Stmt>, symbols: &BTreeMap<String, Symbol>) -> Vec<Logic> {
    let stmts = without_overwritten(stmts);
    let mut last_write: HashMap<String, usize> = HashMap::new();
    for (p, stmt) in stmts.iter().enumerate() {
        stmt.writes(&mut |key| {
            last_write.insert(key.to_string(), p);
        });
    }
    // Statements belong together if they write the same signal, or if one reads what the other changes again; a comment belongs to the
    // statement after it.
    let mut groups = Groups::new(stmts.len());
    for p in 1..stmts.len() {
        if let Stmt::Comment(_) = stmts[p - 1] {
            groups.join(p - 1, p);
        }
    }
    let mut writer: HashMap<String, usize> = HashMap::new();
    for (p, stmt) in stmts.iter().enumerate() {
        stmt.writes(&mut |key| {
            let first = *writer.entry(key.to_string()).or_insert(p);
            groups.join(p, first);
        });
    }
    for (p, stmt) in stmts.iter().enumerate() {
        stmt.reads(&mut |key| {
            if let (Some(last), Some(first)) = (last_write.get(key), writer.get(key))
                && *last > p
            {
                groups.join(p, *first);
            }
        });
    }
    let mut pieces: BTreeMap<usize, Vec<Stmt>> = BTreeMap::new();
    for (p, stmt) in stmts.into_iter().enumerate() {
        pieces.entry(groups.root(p)).or_default().push(stmt);
    }
    pieces.into_values().flat_map(|piece| simplify(piece, symbols)).collect()
}

/// Without the statements all of whose signals are assigned again before anybody reads them; what is said of one is said of the assignment
/// that stays.
fn without_overwritten(stmts: Vec<Stmt>) -> Vec<Stmt> {
    let mut overwritten: BTreeSet<String> = BTreeSet::new();
    let mut kept: Vec<Stmt> = Vec::new();
    let mut left = stmts.into_iter().rev().peekable();
    while let Some(stmt) = left.next() {
        let writes = targets(&[&stmt]);
        if !writes.is_empty() && writes.iter().all(|key| overwritten.contains(key)) {
            let stays = |stmt: &Stmt| matches!(stmt, Stmt::Assign(target, _) if *target == writes[0]);
            let mut place = kept.iter().rposition(stays).map_or(kept.len(), |stays| stays + 1);
            while let Some(said) = left.next_if(Stmt::is_comment) {
                kept.insert(place, said);
                place += 1;
            }
            continue;
        }
        if let Stmt::Assign(target, _) = &stmt {
            overwritten.insert(target.clone());
        }
        stmt.reads(&mut |key| {
            overwritten.remove(key);
        });
        kept.push(match stmt {
            Stmt::If(test, then, otherwise) => {
                Stmt::If(test, without_overwritten(then), without_overwritten(otherwise))
            }
            Stmt::Case(test, cases, default) => {
                let cases = cases.into_iter().map(|(value, block)| (value, without_overwritten(block)));
                Stmt::Case(test, cases.collect(), without_overwritten(default))
            }
            stmt => stmt,
        });
    }
    kept.reverse();
    kept
}

/// A piece of one target, written without conditions, is a continuous assignment; the rest is a process. What is said of it comes before it.
fn simplify(mut stmts: Vec<Stmt>, symbols: &BTreeMap<String, Symbol>) -> Vec<Logic> {
    let assign = continuous(&plain(&stmts), symbols);
    let rest = match &assign {
        Some(_) => Vec::new(),
        None => stmts.split_off(stmts.iter().position(|s| !s.is_comment()).unwrap_or(stmts.len())),
    };
    let said = stmts.into_iter().filter_map(|stmt| match stmt {
        Stmt::Comment(text) => Some(Logic::Comment(text)),
        _ => None,
    });
    said.chain([assign.unwrap_or_else(|| Logic::Process(targets(&rest.iter().collect::<Vec<_>>()), rest))])
        .collect()
}

/// What is no comment.
fn plain(stmts: &[Stmt]) -> Vec<&Stmt> {
    stmts.iter().filter(|stmt| !stmt.is_comment()).collect()
}

/// What these write, each once.
fn targets(stmts: &[&Stmt]) -> Vec<String> {
    let mut targets: Vec<String> = Vec::new();
    for stmt in stmts {
        stmt.writes(&mut |key| {
            if !targets.iter().any(|t| t == key) {
                targets.push(key.to_string());
            }
        });
    }
    targets
}

fn continuous(stmts: &[&Stmt], symbols: &BTreeMap<String, Symbol>) -> Option<Logic> {
    let targets = targets(stmts);
    let [target] = targets.as_slice() else { return None };
    let is_read = |value: &Expr| {
        let mut is_read = false;
        value.reads(&mut |key| is_read |= key == target);
        is_read
    };
    // What is overwritten unread is nothing.
    let last = stmts.iter().rposition(|stmt| matches!(stmt, Stmt::Assign(_, value) if !is_read(value)));
    let value = match &stmts[last.unwrap_or(0)..] {
        [stmt] => one(stmt),
        [Stmt::Assign(_, first), Stmt::If(test, then, otherwise)] if plain(otherwise).is_empty() => {
            match plain(then)[..] {
                [Stmt::Assign(_, value)] => {
                    Some(Expr::Mux(Box::new(test.clone()), Box::new(value.clone()), Box::new(first.clone())))
                }
                _ => None,
            }
        }
        [Stmt::Assign(_, first), bits @ ..] => with_bits(first, bits, symbols[target].width),
        _ => None,
    }?;
    (!is_read(&value)).then(|| Logic::Assign(target.clone(), value))
}

fn one(stmt: &Stmt) -> Option<Expr> {
    match stmt {
        Stmt::Assign(_, value) => Some(value.clone()),
        Stmt::If(test, then, otherwise) => match (&plain(then)[..], &plain(otherwise)[..]) {
            ([Stmt::Assign(a, then)], [Stmt::Assign(b, otherwise)]) if a == b => {
                Some(Expr::Mux(Box::new(test.clone()), Box::new(then.clone()), Box::new(otherwise.clone())))
            }
            _ => None,
        },
        _ => None,
    }
}

/// A value of which bits are set, each once: a concatenation.
fn with_bits(value: &Expr, stmts: &[&Stmt], width: u32) -> Option<Expr> {
    let mut bits: BTreeMap<u32, Expr> = BTreeMap::new();
    for stmt in stmts {
        let Stmt::SetBit(_, index, value) = stmt else { return None };
        if bits.insert(*index, value.clone()).is_some() {
            return None;
        }
    }
    let bit = |index| bits.remove(&index).or_else(|| value.cut(index, 1));
    (0..width).rev().map(bit).collect::<Option<Vec<_>>>().map(Expr::concat)
}

/// Union-find over statement positions; a set's root is its lowest member.
struct Groups(Vec<usize>);

impl Groups {
    fn new(n: usize) -> Self {
        Self((0..n).collect())
    }
    fn root(&mut self, p: usize) -> usize {
        let up = self.0[p];
        if up == p {
            return p;
        }
        let root = self.root(up);
        self.0[p] = root;
        root
    }
    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        let (low, high) = (a.min(b), a.max(b));
        self.0[high] = low;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_assigned_again_unread_goes_and_what_was_said_of_it_stays() {
        let signal = |name: &str| Expr::Signal(name.into(), 1);
        let assign = |target: &str, value: &str| Stmt::Assign(target.into(), signal(value));
        let said = |text: &str| Stmt::Comment(text.into());
        let when = |then: Stmt| Stmt::If(signal("t"), vec![then], Vec::new());
        let kept = without_overwritten(vec![
            said("of x"),
            assign("x", "a"),
            assign("y", "a"),
            when(assign("x", "b")),
            assign("x", "c"),
            assign("z", "x"),
            assign("x", "z"),
            when(assign("y", "b")),
        ]);
        // `y` keeps its default, and `x` what `z` reads of it.
        let expected = vec![
            assign("y", "a"),
            said("of x"),
            assign("x", "c"),
            assign("z", "x"),
            assign("x", "z"),
            when(assign("y", "b")),
        ];
        assert_eq!(kept, expected);
        let bit = vec![assign("x", "a"), Stmt::SetBit("x".into(), 0, signal("b"))];
        assert_eq!(without_overwritten(bit.clone()), bit, "one bit leaves the others");
    }
}
