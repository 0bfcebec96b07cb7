//! How rospin's commands and experiments show results.
//!
//! [`output_options`] are the options that name result files, [`outputs`] the files themselves; [`page`], [`svg`] and [`timeline`] are what
//! an HTML report is made of, [`text_table`] what a terminal shows, [`progress`] what it shows meanwhile. [`number`] and [`choice`] read
//! what a user gives, and [`Failure`] is what is said if nothing came of it.

pub mod choice;
mod failure;
pub mod number;
pub mod output_options;
pub mod outputs;
pub mod page;
pub mod progress;
pub mod svg;
pub mod text_table;
pub mod timeline;

pub use failure::Failure;
