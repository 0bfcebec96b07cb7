//! The public items of a crate as text, a line for each.

use std::collections::BTreeMap;
use std::fmt::Write;

use syn::{Attribute, Fields, ImplItem, Item, ItemImpl, TraitItem, Type, Visibility};

use crate::crates::{Crate, Names, name_of, text_of};

/// An `impl` of a type.
pub(crate) struct Impl<'a> {
    pub(crate) block: &'a ItemImpl,
}

/// Returns all `impl`s of the crate by the type's module and name.
pub(crate) fn impls(of: &Crate) -> BTreeMap<(Names, String), Vec<Impl<'_>>> {
    let mut all = BTreeMap::<_, Vec<_>>::new();
    for (names, items) in &of.modules {
        for item in items {
            let Item::Impl(block) = item else { continue };
            let Type::Path(path) = &*block.self_ty else { continue };
            let path: Names = path.path.segments.iter().map(|part| part.ident.to_string()).collect();
            if let Some((module, item)) = of.find(names, &path) {
                let name = name_of(item).unwrap_or_default();
                all.entry((module.clone(), name)).or_default().push(Impl { block });
            }
        }
    }
    all
}

/// Returns the attributes that change what users may do: derived traits, `non_exhaustive` and so on.
fn marks(attributes: &[Attribute]) -> String {
    let is_mark = |attribute: &&Attribute| {
        ["derive", "non_exhaustive", "must_use", "deprecated", "cfg"].iter().any(|name| attribute.path().is_ident(name))
    };
    let texts = attributes.iter().filter(is_mark).map(|attribute| text_of(attribute) + " ");
    texts.collect()
}

fn fields(fields: &Fields) -> String {
    let is_public = |field: &&syn::Field| matches!(field.vis, Visibility::Public(_));
    let shown = fields.iter().filter(is_public).map(|field| match &field.ident {
        Some(name) => format!("{name}: {}", text_of(&field.ty)),
        None => text_of(&field.ty),
    });
    let mut shown: Vec<_> = shown.collect();
    if fields.iter().any(|field| !is_public(&field)) {
        shown.push("..".to_owned());
    }
    if shown.is_empty() { String::new() } else { format!(" {{ {} }}", shown.join(", ")) }
}

/// Returns the list of all public items.
pub(crate) fn listing(of: &Crate) -> String {
    let mut out = String::new();
    let impls = impls(of);
    for public in of.public() {
        let path = &public.path;
        let Some((names, item)) = public.defined else {
            writeln!(out, "use {path}").expect("a text");
            continue;
        };
        let line = match item {
            Item::Const(item) => format!("const {path}: {}", text_of(&item.ty)),
            Item::Static(item) => format!("static {path}: {}", text_of(&item.ty)),
            Item::Fn(item) => format!("{path}: {}{}", marks(&item.attrs), text_of(&item.sig)),
            Item::Type(item) => format!("type {path}{} = {}", text_of(&item.generics), text_of(&item.ty)),
            Item::Mod(_) => format!("mod {path}"),
            Item::Struct(item) => {
                let generics = text_of(&item.generics);
                format!("{}struct {path}{generics}{}", marks(&item.attrs), fields(&item.fields))
            }
            Item::Enum(item) => format!("{}enum {path}{}", marks(&item.attrs), text_of(&item.generics)),
            Item::Trait(item) => {
                let (bounds, generics) = (text_of(&item.supertraits), text_of(&item.generics));
                format!("trait {path}{generics}: {bounds}")
            }
            _ => continue,
        };
        writeln!(out, "{}", line.trim_end()).expect("a text");
        let mut inside = Vec::new();
        if let Item::Enum(item) = item {
            inside.extend(item.variants.iter().map(|variant| {
                let mut variant = variant.clone();
                variant.attrs.clear();
                for field in &mut variant.fields {
                    field.attrs.clear();
                }
                format!("{path}::{}", text_of(&variant))
            }));
        }
        if let Item::Trait(item) = item {
            inside.extend(item.items.iter().map(|member| format!("{path}: {}", member_text(member))));
        }
        let name = name_of(item).unwrap_or_default();
        for Impl { block } in impls.get(&(names.clone(), name)).into_iter().flatten() {
            let generics = text_of(&block.generics);
            let bounds = block.generics.where_clause.as_ref().map(text_of).unwrap_or_default();
            if let Some((implemented, _)) = &block.trait_ {
                inside.push(format!("impl{generics} {} for {path} {bounds}", text_of(implemented)));
                continue;
            }
            inside.extend(block.items.iter().filter_map(|member| match member {
                ImplItem::Fn(function) if matches!(function.vis, Visibility::Public(_)) => {
                    Some(format!("{path}: {}{} {bounds}", marks(&function.attrs), text_of(&function.sig)))
                }
                ImplItem::Const(item) if matches!(item.vis, Visibility::Public(_)) => {
                    Some(format!("const {path}::{}: {}", item.ident, text_of(&item.ty)))
                }
                _ => None,
            }));
        }
        inside.sort();
        for line in inside {
            writeln!(out, "    {}", line.trim_end()).expect("a text");
        }
    }
    out
}

fn member_text(member: &TraitItem) -> String {
    match member {
        TraitItem::Fn(function) => {
            let default = if function.default.is_some() { " { .. }" } else { "" };
            format!("{}{}{default}", marks(&function.attrs), text_of(&function.sig))
        }
        TraitItem::Type(item) => format!("type {}: {}", item.ident, text_of(&item.bounds)),
        TraitItem::Const(item) => format!("const {}: {}", item.ident, text_of(&item.ty)),
        other => text_of(other),
    }
}
