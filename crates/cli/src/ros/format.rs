//! Options for the text of messages, as `ros2` has them.

use clap::Args;
use rospin::dynamic::YamlFormat;

/// Text of printed messages.
#[derive(Args, Clone, Debug)]
pub(crate) struct FormatOptions {
    /// Prints all values on one line, with commas between them
    #[arg(long)]
    pub(crate) csv: bool,

    /// Prints all elements of arrays and all characters of strings
    #[arg(long, short)]
    full_length: bool,

    /// Prints at most so many elements or characters
    #[arg(long, short = 'l', value_name = "N", default_value = "128")]
    truncate_length: usize,

    /// Prints types and lengths of arrays in place of their elements
    #[arg(long)]
    no_arr: bool,

    /// Prints the lengths of strings in place of them
    #[arg(long)]
    no_str: bool,

    /// Prints each message on one line, in braces
    #[arg(long)]
    flow_style: bool,
}

impl FormatOptions {
    /// Returns the format for YAML and for lines of values.
    pub(crate) fn yaml(&self) -> YamlFormat {
        let length = if self.full_length { None } else { Some(self.truncate_length) };
        YamlFormat::new().truncate_length(length).no_arr(self.no_arr).no_str(self.no_str).flow_style(self.flow_style)
    }
}
