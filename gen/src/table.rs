//! Tables as text.

/// The cells of all rows, each as wide as its column, which is `least` wide at least. Columns that `is_left` picks begin at the left, and the
/// others end at the right.
pub(crate) fn aligned(
    rows: &[Vec<String>],
    least: usize,
    is_left: impl Fn(usize) -> bool,
) -> Vec<Vec<String>> {
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

/// A line of a table, with its end.
pub(crate) fn line(cells: &[String], markdown: bool) -> String {
    if markdown {
        format!("| {} |\n", cells.join(" | "))
    } else {
        format!("{}\n", cells.join("  ").trim_end())
    }
}
