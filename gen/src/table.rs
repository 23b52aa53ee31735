//! Tables as text, Markdown and CSV, and what is said in and around them.

use std::fmt::Display;

/// So many that one sees what is wrong.
pub fn first_lines(problems: &[String]) -> String {
    const SHOWN: usize = 12;
    let more = match problems.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!("\n  and {more} more"),
    };
    problems.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join("\n  ") + &more
}

/// The text in one line, without control characters, which would break a table or do something to a terminal: names come from files.
pub fn without_controls(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// How many of them, in words: `1 kernel`, `2 kernels`.
pub fn counted<N: Display + PartialEq + From<u8>>(number: N, what: &str) -> String {
    let end = if number == N::from(1) { "" } else { "s" };
    format!("{number} {what}{end}")
}

/// A cell of [`line()`]: in one line, and in Markdown not the end of the cell, nor anything but what it says.
pub fn cell(text: &str, markdown: bool) -> String {
    let text = without_controls(text);
    if markdown { literal(&text).replace('|', "\\|") } else { text }
}

/// Text for Markdown that shows it as it is: names come from files. What Markdown takes for itself anyway stays, so that `a_b`, `a < b` and
/// `area [um2]` are as readable in the file as on the page.
pub fn literal(text: &str) -> String {
    escape(text, "`")
}

/// The same, but for pieces of code between backticks, which stay code: a sentence of ours with names in it.
pub fn sentence(text: &str) -> String {
    let pieces: Vec<&str> = text.split('`').collect();
    if pieces.len().is_multiple_of(2) {
        // A backtick is without its partner, so that it is some name's.
        return literal(text);
    }
    let piece = |(i, piece): (usize, &&str)| if i % 2 == 0 { escape(piece, "") } else { piece.to_string() };
    pieces.iter().enumerate().map(piece).collect::<Vec<_>>().join("`")
}

/// With a backslash before all that would be markup, and before each of `also`.
fn escape(text: &str, also: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let is_link = text.contains("](") || text.contains("][");
    let is_word = |at: Option<&char>| at.is_some_and(|c| c.is_alphanumeric() || *c == '_');
    let mut escaped = String::with_capacity(text.len());
    for (at, c) in chars.iter().enumerate() {
        let (before, after) = (at.checked_sub(1).and_then(|at| chars.get(at)), chars.get(at + 1));
        let blank = |at: Option<&char>| at.is_none_or(|c| c.is_whitespace());
        let is_markup = match c {
            '\\' => after.is_some_and(char::is_ascii_punctuation),
            '*' | '~' => !(blank(before) && blank(after)),
            // Within a word it is a character as any other.
            '_' => !(is_word(before) && is_word(after)),
            '<' => after.is_some_and(|c| c.is_ascii_alphabetic() || "/!?".contains(*c)),
            '&' => after.is_some_and(|c| c.is_ascii_alphabetic() || *c == '#'),
            '[' | ']' => is_link,
            c => also.contains(*c),
        };
        if is_markup {
            escaped.push('\\');
        }
        escaped.push(*c);
    }
    escaped
}

/// The cells of all rows, each as wide as its column, which is `least` wide at least. Columns that `is_left` picks begin at the left, and the
/// others end at the right.
pub fn aligned(rows: &[Vec<String>], least: usize, is_left: impl Fn(usize) -> bool) -> Vec<Vec<String>> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|column| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).fold(least, usize::max)
        })
        .collect();
    let pad = |(column, cell): (usize, &String)| {
        // `format!` panics where a width does not fit into 16 bits.
        let blanks = " ".repeat(widths[column] - cell.chars().count());
        if is_left(column) { format!("{cell}{blanks}") } else { format!("{blanks}{cell}") }
    };
    rows.iter().map(|row| row.iter().enumerate().map(pad).collect()).collect()
}

/// A line of a table, with its end; of [`cell`]s.
pub fn line(cells: &[String], markdown: bool) -> String {
    if markdown {
        format!("| {} |\n", cells.join(" | "))
    } else {
        format!("{}\n", cells.join("  ").trim_end())
    }
}

/// A table as text.
pub fn text(rows: &[Vec<String>], is_left: impl Fn(usize) -> bool) -> String {
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|text| cell(text, false)).collect()).collect();
    aligned(&rows, 0, is_left).iter().map(|cells| line(cells, false)).collect()
}

/// A line of CSV (RFC 4180, with a line feed).
pub fn csv_line<T: AsRef<str>>(cells: &[T]) -> String {
    let quoted = cells.iter().map(|cell| match cell.as_ref() {
        cell if cell.contains([',', '"', '\n', '\r']) => format!("\"{}\"", cell.replace('"', "\"\"")),
        cell => cell.to_string(),
    });
    quoted.collect::<Vec<_>>().join(",") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_may_be_wider_than_a_format_string_takes() {
        let wide = "x".repeat(70_000);
        let rows = [vec![wide.clone(), "1".into()], vec!["a".into(), wide.clone()]];
        let lines = text(&rows, |column| column == 0);
        assert!(lines.starts_with(&format!("{wide}  {}1\n", " ".repeat(69_999))));
        assert_eq!(lines.lines().map(str::len).collect::<Vec<_>>(), [140_002; 2]);
    }

    #[test]
    fn a_cell_is_one_line_and_one_cell() {
        let name = "a|b\n\u{1b}[31mc";
        assert_eq!(cell(name, true), "a\\|b  [31mc");
        assert_eq!(cell("a*b*|<i>", true), "a\\*b\\*\\|\\<i>");
        assert_eq!(text(&[vec![name.into(), "1".into()]], |_| true), "a|b  [31mc  1\n");
    }

    #[test]
    fn names_are_no_markup() {
        for (name, shown) in [
            ("brax-v1_ant b256 < 3, area [um2], 2 * 3 & 4", "brax-v1_ant b256 < 3, area [um2], 2 * 3 & 4"),
            ("*x* _y_ __z", "\\*x\\* \\_y\\_ \\__z"),
            ("<b>&amp;`c`", "\\<b>\\&amp;\\`c\\`"),
            ("[a](b) ~c~ \\* d\\e", "\\[a\\](b) \\~c\\~ \\\\\\* d\\e"),
        ] {
            assert_eq!(literal(name), shown);
        }
        assert_eq!(sentence("`a*b` of *c*"), "`a*b` of \\*c\\*");
        assert_eq!(sentence("one ` *c*"), "one \\` \\*c\\*");
    }

    #[test]
    fn one_is_one() {
        assert_eq!([0u8, 1, 2].map(|n| counted(n, "kernel")), ["0 kernels", "1 kernel", "2 kernels"]);
    }

    #[test]
    fn cells_of_csv_are_quoted_where_they_must() {
        assert_eq!(csv_line(&["a b", "a,\"b\"", "c\nd"]), "a b,\"a,\"\"b\"\"\",\"c\nd\"\n");
    }
}
