//! Operator schemas, as PyTorch prints them: `aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)`.

/// What an operator does with the memory of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alias {
    /// Reads it.
    None,
    /// Returns a view of it: `Tensor(a)`.
    View,
    /// Writes it: `Tensor(a!)`.
    Written,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Argument {
    pub(super) name: String,
    pub(super) alias: Alias,
}

/// The arguments in the order of the recorded inputs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Schema {
    pub(super) overload: String,
    pub(super) arguments: Vec<Argument>,
}

impl Schema {
    /// Nothing where the text is not a schema: nodes that are no operators have an empty one.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (name, rest) = text.split_once('(')?;
        let overload = name.split_once('.').map_or("", |(_, overload)| overload).to_owned();
        // The list ends at its own parenthesis: aliases and tuples have others.
        let mut depth = 1_usize;
        let end = rest.char_indices().find(|(_, c)| {
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            depth == 0
        });
        let (end, _) = end?;
        let arguments = split(&rest[..end]).into_iter().filter(|text| *text != "*").map(argument).collect();
        Some(Self { overload, arguments })
    }

    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.arguments.iter().position(|argument| argument.name == name)
    }
}

fn argument(text: &str) -> Argument {
    let declared = text.split_once('=').map_or(text, |(before, _)| before).trim_end();
    let (kind, name) = declared.rsplit_once(' ').unwrap_or((declared, ""));
    let alias = match kind.strip_prefix("Tensor(").and_then(|rest| rest.split_once(')')) {
        Some((set, _)) if set.contains('!') => Alias::Written,
        Some(_) => Alias::View,
        None => Alias::None,
    };
    Argument { name: name.to_owned(), alias }
}

/// Splits at the commas that are in no bracket.
pub(super) fn split(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0_i64, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' | '<' => depth += 1,
            // The arrow of `Tensor(a -> *)` closes nothing.
            '>' if text[..at].ends_with('-') => {}
            ')' | ']' | '}' | '>' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_have_names_and_aliases() {
        let text = "aten::sum.IntList_out(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)";
        let schema = Schema::parse(text).expect("a schema");
        assert_eq!(schema.overload, "IntList_out");
        let names: Vec<_> = schema.arguments.iter().map(|a| a.name.as_str()).collect();
        assert_eq!(names, ["self", "dim", "keepdim", "dtype", "out"]);
        assert_eq!(schema.arguments[4].alias, Alias::Written);
        assert_eq!(schema.arguments[0].alias, Alias::None);
        let list = Schema::parse("aten::_foreach_add_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()");
        assert_eq!(list.expect("a schema").arguments[0].alias, Alias::Written);
        let view = Schema::parse(
            "aten::chunk(Tensor(a -> *) self, int chunks, int[2] x=[1, 1], int dim=0) -> Tensor(a)[]",
        );
        let view = view.expect("a schema");
        assert_eq!((view.arguments[0].alias, view.arguments.len()), (Alias::View, 4));
        assert_eq!(Schema::parse(""), None);
        assert_eq!(Schema::parse("a("), None);
    }
}
