//! Derive macros of `rospin-node`, which exports and documents them.

#![forbid(unsafe_code)]

mod attributes;
mod parameters;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Derives the trait `Parameters` for a struct, whose fields become parameters of a node. `rospin::Parameters`
/// documents it.
#[proc_macro_derive(Parameters, attributes(parameter, parameters))]
pub fn derive_parameters(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    parameters::expand(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}
