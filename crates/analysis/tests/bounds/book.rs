//! The table of the case study III of PiCAS in the book is what the example prints.

use std::path::Path;

#[path = "../../examples/picas.rs"]
#[allow(dead_code, reason = "the example prints what the test compares")]
mod picas;

/// `ROSPIN_BLESS=1 cargo test -p rospin-analysis --test bounds book` writes the table into the page.
#[test]
fn the_table_of_the_case_study_is_what_the_example_prints() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../book/src/guide/deadlines.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let table = picas::table().unwrap();
    let begin = page.find("| chain | deadline | paper |").expect("the table");
    let end = page[begin..].find("\n\n").map_or(page.len(), |length| begin + length + 1);
    if std::env::var_os("ROSPIN_BLESS").is_some() {
        std::fs::write(&path, format!("{}{table}{}", &page[..begin], &page[end..])).unwrap();
    } else {
        assert_eq!(&page[begin..end], table, "ROSPIN_BLESS=1 writes the table");
    }
}
