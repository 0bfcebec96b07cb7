//! Macros that define items or methods, as far as their bodies need nothing but a name: the common methods of handles
//! and options come from such ones.

use std::collections::BTreeMap;

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use syn::{Attribute, ImplItem, Item};

use crate::crates::Names;

/// The bodies of the macros of a crate, by name: of the first rule of each.
type Bodies = BTreeMap<String, TokenStream>;

/// Puts in place of each macro what it stands for, in all modules. Leaves those alone whose bodies need more than a
/// name.
pub(crate) fn expand(modules: &mut BTreeMap<Names, Vec<Item>>) {
    let mut bodies = Bodies::new();
    for item in modules.values().flatten() {
        if let Item::Macro(item) = item
            && let Some(name) = &item.ident
            && let Some(TokenTree::Group(body)) = item.mac.tokens.clone().into_iter().skip(1).find(is_body)
        {
            bodies.insert(name.to_string(), body.stream());
        }
    }
    for items in modules.values_mut() {
        let mut expanded = Vec::new();
        for mut item in std::mem::take(items) {
            if let Item::Impl(block) = &mut item {
                let members = std::mem::take(&mut block.items);
                block.items = members.into_iter().flat_map(|member| members_of(member, &bodies)).collect();
            }
            match &item {
                Item::Macro(call) if call.ident.is_none() => expanded.extend(items_of(&call.mac, &bodies)),
                _ => expanded.push(item),
            }
        }
        *items = expanded;
    }
}

fn is_body(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
}

fn body_of<'a>(call: &syn::Macro, bodies: &'a Bodies) -> Option<&'a TokenStream> {
    bodies.get(&call.path.segments.last()?.ident.to_string())
}

fn members_of(member: ImplItem, bodies: &Bodies) -> Vec<ImplItem> {
    let ImplItem::Macro(call) = &member else { return vec![member] };
    let Some(body) = body_of(&call.mac, bodies) else { return Vec::new() };
    let body = filled(body.clone(), None);
    let block = syn::parse2::<syn::ItemImpl>(quote::quote! { impl Holder { #body } });
    block.map_or_else(|_| Vec::new(), |block| block.items)
}

fn items_of(call: &syn::Macro, bodies: &Bodies) -> Vec<Item> {
    let Some(body) = body_of(call, bodies) else { return Vec::new() };
    // Documentation, and then the name.
    let mut documentation = TokenStream::new();
    let mut name = None;
    for token in call.tokens.clone() {
        if let TokenTree::Ident(ident) = &token {
            name = Some(ident.clone());
            break;
        }
        documentation.extend([token]);
    }
    let Ok(file) = syn::parse2::<syn::File>(filled(body.clone(), name.as_ref())) else { return Vec::new() };
    let attributes = syn::parse2::<syn::ItemStruct>(quote::quote! { #documentation struct Holder; });
    let attributes: Vec<Attribute> = attributes.map_or_else(|_| Vec::new(), |holder| holder.attrs);
    let with_documentation = |mut item: Item| {
        if let Item::Struct(item) = &mut item {
            item.attrs.splice(0..0, attributes.clone());
        }
        item
    };
    file.items.into_iter().map(with_documentation).collect()
}

/// Returns the body with the name in place of `$name`, and without what is repeated.
fn filled(body: TokenStream, name: Option<&proc_macro2::Ident>) -> TokenStream {
    let mut out = TokenStream::new();
    let mut tokens = body.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == '$' => match tokens.next() {
                Some(TokenTree::Ident(ident)) if ident == "name" => out.extend(name.cloned().map(TokenTree::Ident)),
                Some(TokenTree::Ident(ident)) if ident == "crate" => out.extend([TokenTree::Ident(ident)]),
                // The sign that says how often it is repeated comes after it.
                Some(TokenTree::Group(_)) => drop(tokens.next()),
                _ => {}
            },
            TokenTree::Group(group) => {
                let inner = filled(group.stream(), name);
                out.extend([TokenTree::Group(Group::new(group.delimiter(), inner))]);
            }
            token => out.extend([token]),
        }
    }
    out
}
