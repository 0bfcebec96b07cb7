//! The experiments that README.md and the book name exist.

use crate::common::text;
use crate::pages::commands_of;
use crate::rospin_lab;

/// Most of these take minutes or a network, so they are only asked for their help. That fails for an experiment or an
/// option that does not exist.
#[test]
fn commands_of_all_pages_have_experiments_and_options_that_exist() {
    let mut count = 0;
    for (page, line) in commands_of("rospin-lab") {
        let mut arguments: Vec<&str> = line.split_whitespace().collect();
        arguments.push("--help");
        let output = rospin_lab(&arguments);
        assert!(output.status.success(), "{page}: rospin lab {line}: {}", text(&output.stderr));
        count += 1;
    }
    assert!(count >= 15, "{count}");
}
