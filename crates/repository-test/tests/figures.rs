//! The tables of figures in the README and the book: each is compared with its source by a test.
//!
//! A table with figures that a machine measured is kept in `book/measured.toml` with the command, the machine and the
//! day, and must be equal there. A table that another test compares or prints is named there with that test.

use std::fs;
use std::path::PathBuf;

use rospin_repository_test::repository;
use serde::Deserialize;

/// A table with fewer numbers than this has no figures to compare.
const FEW_NUMBERS: usize = 3;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sources {
    /// Tables that were measured.
    measured: Vec<Measured>,
    /// Tables that another test compares.
    tested: Vec<Tested>,
    /// Tables whose numbers are not measured, such as those of default values.
    other: Vec<Other>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Measured {
    page: String,
    header: String,
    command: String,
    machine: String,
    rows: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tested {
    page: String,
    header: String,
    file: String,
    test: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Other {
    page: String,
    header: String,
}

/// A table of a document.
struct Table {
    page: String,
    header: String,
    rows: Vec<String>,
}

fn sources() -> Sources {
    toml::from_str(&fs::read_to_string(repository().join("book/measured.toml")).unwrap()).unwrap()
}

/// Returns the README and all pages of the book.
fn pages() -> Vec<PathBuf> {
    let mut pages = vec![repository().join("README.md")];
    let mut folders = vec![repository().join("book/src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages
}

/// Returns the tables of `text`. The line of dashes below a header does not count as a row.
fn tables_of(page: &str, text: &str) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    let mut is_inside = false;
    for line in text.lines() {
        if !line.starts_with('|') {
            is_inside = false;
        } else if !is_inside {
            is_inside = true;
            tables.push(Table { page: page.to_owned(), header: line.to_owned(), rows: Vec::new() });
        } else if !line.starts_with("| ---") {
            tables.last_mut().unwrap().rows.push(line.to_owned());
        }
    }
    tables
}

fn tables() -> Vec<Table> {
    let mut tables = Vec::new();
    for path in pages() {
        let page = path.strip_prefix(repository()).unwrap().to_str().unwrap().to_owned();
        tables.extend(tables_of(&page, &fs::read_to_string(&path).unwrap()));
    }
    tables
}

/// Returns the number of numbers of at least two digits, or with decimals.
fn numbers(row: &str) -> usize {
    let mut count = 0;
    for word in row.split(|letter: char| !letter.is_ascii_digit() && letter != '.' && letter != ',') {
        let digits = word.chars().filter(char::is_ascii_digit).count();
        if digits >= 2 {
            count += 1;
        }
    }
    count
}

fn has_figures(table: &Table) -> bool {
    let mut count = 0;
    for row in &table.rows {
        count += numbers(row);
    }
    count >= FEW_NUMBERS
}

#[test]
fn every_table_of_figures_has_a_source() {
    let sources = sources();
    let mut named = Vec::new();
    named.extend(sources.measured.iter().map(|table| (&table.page, &table.header)));
    named.extend(sources.tested.iter().map(|table| (&table.page, &table.header)));
    named.extend(sources.other.iter().map(|table| (&table.page, &table.header)));
    let tables = tables();
    for table in &tables {
        let is_named = named.contains(&(&table.page, &table.header));
        let Table { page, header, .. } = table;
        assert!(is_named || !has_figures(table), "book/measured.toml has no source of the table in {page}:\n{header}");
    }
    for (page, header) in named {
        let is_there = tables.iter().any(|table| (&table.page, &table.header) == (page, header));
        assert!(is_there, "{page} has no table, which book/measured.toml names:\n{header}");
    }
}

#[test]
fn measured_tables_are_those_that_are_kept() {
    let tables = tables();
    for kept in sources().measured {
        assert!(!kept.command.is_empty() && !kept.machine.is_empty(), "{}: {}", kept.page, kept.header);
        let of_page = tables.iter().find(|table| table.page == kept.page && table.header == kept.header);
        let rows = of_page.map_or(&[][..], |table| &table.rows);
        assert_eq!(rows, kept.rows, "{} and book/measured.toml differ in the table\n{}", kept.page, kept.header);
    }
}

#[test]
fn the_tests_of_tables_exist() {
    for tested in sources().tested {
        let text = fs::read_to_string(repository().join(&tested.file)).unwrap_or_default();
        let is_there = text.contains(&format!("fn {}()", tested.test));
        assert!(is_there, "{} has no test {}, which book/measured.toml names", tested.file, tested.test);
    }
}

#[test]
fn a_table_with_figures_is_recognised() {
    let text =
        "text\n| a | b |\n| --- | --- |\n| 1.5 | 20 |\n| 2.5 | x |\n\n| key | meaning |\n| --- | --- |\n| `a` | 3 |\n";
    let tables = tables_of("page", text);
    assert_eq!(tables.len(), 2);
    assert_eq!(tables[0].rows, ["| 1.5 | 20 |", "| 2.5 | x |"]);
    assert!(has_figures(&tables[0]) && !has_figures(&tables[1]));
}
