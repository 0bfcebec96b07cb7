//! Tables as plain text, for stdout.

use comfy_table::{Cell, CellAlignment, LineStyle, Table, TableStyle};

/// Returns the number of columns of the terminal, or 100 if stdout is no terminal.
pub fn terminal_width() -> usize {
    Table::new().width().map_or(100, usize::from)
}

/// Alignment of a column's cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// Aligned left, for words.
    Left,
    /// Aligned right, for numbers.
    Right,
}

/// Returns a table as text: a header with a line below it, and the rows. Cells beyond the header are left out. The text
/// ends in a line break.
pub fn render(header: &[(&str, Side)], rows: &[Vec<String>]) -> String {
    let mut table = Table::new();
    table.load_style(TableStyle::new().header_separator(LineStyle::none().fill('─'))).force_no_tty();
    table.set_header(header.iter().map(|(title, side)| cell(title, *side)));
    for row in rows {
        table.add_row(row.iter().zip(header).map(|(text, (_, side))| cell(text, *side)));
    }
    let last = header.len().saturating_sub(1);
    for (number, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, if number == last { 0 } else { 2 }));
    }
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

fn cell(text: &str, side: Side) -> Cell {
    let alignment = if side == Side::Left { CellAlignment::Left } else { CellAlignment::Right };
    Cell::new(text).set_alignment(alignment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_left_and_numbers_right() {
        let rows = [vec!["a".to_owned(), "1".to_owned()], vec!["bcd".to_owned(), "1000".to_owned()]];
        let text = render(&[("name", Side::Left), ("ms", Side::Right)], &rows);
        assert_eq!(text, "name    ms\n──────────\na        1\nbcd   1000\n");
    }
}
