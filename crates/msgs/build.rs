//! Generates the packages whose features are on.

use std::env;

use rospin_codegen::{Generator, SHIPPED};

fn main() {
    let is_on = |name: &&&str| env::var_os(format!("CARGO_FEATURE_{}", name.to_uppercase())).is_some();
    let names = SHIPPED.iter().filter(is_on).map(|name| (*name).to_owned());
    Generator::new().ship(names, "::rospin_wire").generate_or_exit();
}
