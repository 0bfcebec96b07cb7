//! Rows of results that something else has disturbed, and how readers are told.

use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};

use crate::page::escape;

/// The most rows that are named; further ones are counted.
const NAMED_MAX: usize = 12;

/// The rows of a run that readers should not trust, with the reasons. Clones are the same list.
#[derive(Clone, Debug, Default)]
pub struct Distrust(Arc<Mutex<Vec<(String, String)>>>);

impl Distrust {
    /// Notes that the row called `row` is not to be trusted. `reason` is a clause such as "other programs kept 1.2
    /// cores busy".
    pub fn note(&self, row: impl Into<String>, reason: impl Into<String>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((row.into(), reason.into()));
    }

    /// Returns what to tell readers, a line for each row; `None` if all rows can be trusted.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        let rows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if rows.is_empty() {
            return None;
        }
        let mut text = "The machine was busy with something else, too. Do not trust:\n".to_owned();
        for (row, reason) in rows.iter().take(NAMED_MAX) {
            // Writing to a string never fails.
            let _ = writeln!(text, "- {row}: {reason}");
        }
        if rows.len() > NAMED_MAX {
            let _ = writeln!(text, "- and {} more", rows.len() - NAMED_MAX);
        }
        Some(text)
    }

    /// Returns the page with what readers are told below its heading.
    #[must_use]
    pub fn on_page(&self, page: String) -> String {
        let Some(text) = self.text() else { return page };
        let said = format!("</h1>\n<p class=\"verdict\">{}</p>", escape(text.trim_end()).replace('\n', "<br>"));
        page.replacen("</h1>", &said, 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_named_with_their_reasons() {
        let distrust = Distrust::default();
        let page = "<h1>Title</h1><p>Text</p>".to_owned();
        assert_eq!((distrust.text(), distrust.on_page(page.clone())), (None, page.clone()));
        distrust.note("<a>", "other programs kept 1.2 cores busy");
        let text = distrust.text().unwrap();
        assert!(text.ends_with("Do not trust:\n- <a>: other programs kept 1.2 cores busy\n"), "{text}");
        let page = distrust.on_page(page);
        assert!(page.starts_with("<h1>Title</h1>\n<p") && page.contains("<br>- &lt;a&gt;: other"), "{page}");
        for n in 0..NAMED_MAX {
            distrust.note(format!("row {n}"), "it");
        }
        assert!(distrust.clone().text().unwrap().ends_with("- row 10: it\n- and 1 more\n"));
    }
}
