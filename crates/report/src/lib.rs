//! Output of rospin's commands and experiments.
//!
//! [`output_options`] are the options that name result files, and [`outputs`] the files themselves. [`page`], [`svg`]
//! and [`timeline`] are the parts of an HTML report. [`distrust`] names the rows that something else has disturbed.
//! [`text_table`] formats tables for a terminal, and [`progress`] shows progress there. [`number`] and [`choice`] read
//! a user's input, the former also writes numbers of things, and [`Failure`] is the error of a command without a
//! result, which [`exit`] reports.

pub mod choice;
pub mod distrust;
mod failure;
pub mod number;
pub mod output_options;
pub mod outputs;
pub mod page;
pub mod progress;
pub mod svg;
pub mod text_table;
pub mod timeline;

pub use failure::{Failure, exit};
