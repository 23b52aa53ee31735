//! Tables as text, Markdown and CSV.

/// The text in one line, without control characters, which would break a table or do something to a terminal: names come from files.
pub fn without_controls(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// A cell of [`line()`]: in one line, and in Markdown not the end of the cell.
pub fn cell(text: &str, markdown: bool) -> String {
    let text = without_controls(text);
    if markdown { text.replace('|', "\\|") } else { text }
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
        assert_eq!(text(&[vec![name.into(), "1".into()]], |_| true), "a|b  [31mc  1\n");
    }

    #[test]
    fn cells_of_csv_are_quoted_where_they_must() {
        assert_eq!(csv_line(&["a b", "a,\"b\"", "c\nd"]), "a b,\"a,\"\"b\"\"\",\"c\nd\"\n");
    }
}
