//! The page: one file, put together from its parts.

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = concat!(
    include_str!("data.js"),
    include_str!("list.js"),
    include_str!("graph.js"),
    include_str!("panels.js"),
    include_str!("page.js"),
);

/// Returns the page, whose style and script have that nonce.
pub(super) fn page(nonce: &str) -> String {
    PAGE.replace("{nonce}", nonce).replace("{style}", STYLE).replace("{script}", SCRIPT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_refers_to_nothing_outside_itself() {
        let page = page("a1");
        for reference in [" src=", "url(", "@import", "innerHTML", "insertAdjacent", "document.write", "eval("] {
            assert!(!page.contains(reference), "{reference}");
        }
        // The name of the SVG vocabulary looks like an address, but no browser fetches it.
        let addresses = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!addresses.contains("://"), "an address is left");
        assert_eq!(page.matches("href=").count(), 1, "that of the icon, which is empty");
        assert_eq!((page.matches("</script>").count(), page.matches("nonce=\"a1\"").count()), (1, 2));
        assert!(page.ends_with("</html>\n") && !page.contains("{nonce}"));
    }
}
