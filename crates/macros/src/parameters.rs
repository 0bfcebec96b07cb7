//! Expansion of `#[derive(Parameters)]`.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Expr, ExprLit, Field, Fields, Index, Lit, LitStr, Path, Result, Type};

use crate::attributes::{DefaultValue, FieldAttributes, crate_path};

/// Returns the implementation of the trait `Parameters` for a struct.
pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let rospin = crate_path(&input.attrs)?;
    let fields = named_fields(input)?.iter().zip(0..).map(|(field, at)| FieldCode::new(field, at, &rospin));
    // All errors are reported at once.
    let mut code = Vec::new();
    let mut errors = None::<Error>;
    for field in fields {
        match (field, &mut errors) {
            (Ok(field), _) => code.push(field),
            (Err(error), Some(errors)) => errors.combine(error),
            (Err(error), errors) => *errors = Some(error),
        }
    }
    if let Some(errors) = errors {
        return Err(errors);
    }
    let FieldsCode { handles, declare, read, write } = code.into_iter().collect();
    let name = &input.ident;
    let (impl_generics, type_generics, where_clause) = input.generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        #[allow(unused_variables, reason = "of a struct without fields")]
        impl #impl_generics #rospin::Parameters for #name #type_generics #where_clause {
            type Handles = (#(#handles,)*);

            fn declare(
                declarer: &mut #rospin::derived::Declarer<'_>,
                prefix: &str,
            ) -> ::core::result::Result<Self::Handles, #rospin::derived::DeclareError> {
                ::core::result::Result::Ok((#(#declare,)*))
            }

            fn read(handles: &Self::Handles) -> Self {
                Self { #(#read,)* }
            }

            fn write(self, handles: &Self::Handles, settings: &mut #rospin::derived::ParameterChanges) {
                #(#write;)*
            }
        }
    })
}

/// Returns the fields of a struct, which must have names.
fn named_fields(input: &DeriveInput) -> Result<&Fields> {
    match &input.data {
        Data::Struct(data) if matches!(data.fields, Fields::Named(_)) => Ok(&data.fields),
        _ => Err(Error::new_spanned(
            &input.ident,
            "`Parameters` can be derived for structs with named fields only: the names are the parameters'",
        )),
    }
}

/// The code of a field in each part of the implementation.
struct FieldCode {
    handle: TokenStream,
    declare: TokenStream,
    read: TokenStream,
    write: TokenStream,
}

#[derive(Default)]
struct FieldsCode {
    handles: Vec<TokenStream>,
    declare: Vec<TokenStream>,
    read: Vec<TokenStream>,
    write: Vec<TokenStream>,
}

impl FromIterator<FieldCode> for FieldsCode {
    fn from_iter<I: IntoIterator<Item = FieldCode>>(fields: I) -> Self {
        let mut all = Self::default();
        for FieldCode { handle, declare, read, write } in fields {
            all.handles.push(handle);
            all.declare.push(declare);
            all.read.push(read);
            all.write.push(write);
        }
        all
    }
}

impl FieldCode {
    /// Returns the code of the field at the place `at` of the handles. `rospin` is the path of the crate with the
    /// trait.
    fn new(field: &Field, at: usize, rospin: &Path) -> Result<Self> {
        let attributes = FieldAttributes::of(field)?;
        let Some(ident) = &field.ident else {
            return Err(Error::new_spanned(field, "a field needs a name: it is the parameter's"));
        };
        let at = Index::from(at);
        let ty = &field.ty;
        let name = attributes.name.clone();
        let name = name.unwrap_or_else(|| LitStr::new(&ident.unraw().to_string(), ident.span()));
        // The span of the field's type, so that the compiler shows type errors there.
        let span = ty.span();
        let rospin = &at_span(rospin, span);
        if attributes.nested {
            return Ok(Self {
                handle: quote_spanned!(span=> <#ty as #rospin::Parameters>::Handles),
                declare: quote_spanned!(span=> <#ty as #rospin::Parameters>::declare(
                    declarer,
                    &#rospin::derived::Declarer::join(prefix, #name),
                )?),
                read: quote_spanned!(span=> #ident: <#ty as #rospin::Parameters>::read(&handles.#at)),
                write: quote_spanned!(span=> <#ty as #rospin::Parameters>::write(self.#ident, &handles.#at, settings)),
            });
        }
        let options = options(&attributes, ty, rospin);
        Ok(Self {
            handle: quote_spanned!(span=> #rospin::Parameter<#ty>),
            declare: quote_spanned!(span=> declarer.declare(&#rospin::derived::Declarer::join(prefix, #name), #options)?),
            read: quote_spanned!(span=> #ident: #rospin::Parameter::get(&handles.#at)),
            write: quote_spanned!(span=> settings.set(&handles.#at, self.#ident)),
        })
    }
}

/// Returns the path with the given span.
fn at_span(path: &Path, span: Span) -> TokenStream {
    let tokens = path.to_token_stream().into_iter();
    let moved = tokens.map(|mut token: TokenTree| {
        token.set_span(span.resolved_at(token.span()));
        token
    });
    moved.collect()
}

/// Returns the options of a parameter, as its attributes say.
fn options(attributes: &FieldAttributes, ty: &Type, rospin: &TokenStream) -> TokenStream {
    let mut options = quote_spanned!(ty.span()=> #rospin::ParameterOptions::<#ty>::new());
    let mut set = |setter: TokenStream| options.extend(setter);
    match &attributes.default {
        Some(DefaultValue::OfType) => set(quote!(.default_value(::core::default::Default::default()))),
        Some(DefaultValue::Value(value)) => {
            let default = default_value(value, ty);
            set(quote_spanned!(value.span()=> .default_value(#default)));
        }
        None => {}
    }
    if let Some(text) = &attributes.description {
        set(quote!(.description(#text)));
    }
    if let Some(text) = &attributes.additional_constraints {
        set(quote!(.additional_constraints(#text)));
    }
    if let Some(range) = &attributes.range {
        set(quote_spanned!(range.span()=> .range(#range)));
    }
    if let Some(step) = &attributes.step {
        set(quote_spanned!(step.span()=> .step(#step)));
    }
    if attributes.read_only {
        set(quote!(.read_only()));
    }
    if attributes.ignore_override {
        set(quote!(.ignore_override()));
    }
    options
}

/// Returns the default as a value of the field's type. Adds the `Some`, `String::from` or `vec!` that the attribute may
/// leave out.
fn default_value(value: &Expr, ty: &Type) -> TokenStream {
    let is_option = matches!(ty, Type::Path(path) if last_is(&path.path, "Option"));
    let says_so = match value {
        Expr::Path(path) => last_is(&path.path, "None"),
        Expr::Call(call) => matches!(&*call.func, Expr::Path(path) if last_is(&path.path, "Some")),
        _ => false,
    };
    let value = owned(value);
    if is_option && !says_so { quote!(::core::option::Option::Some(#value)) } else { value }
}

/// Returns true if the path ends in `name`.
fn last_is(path: &Path, name: &str) -> bool {
    path.segments.last().is_some_and(|segment| segment.ident == name)
}

/// Returns the expression with owned strings and vectors in place of literals.
fn owned(value: &Expr) -> TokenStream {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => {
            quote_spanned!(text.span()=> ::std::string::String::from(#text))
        }
        Expr::Array(array) => {
            let elements = array.elems.iter().map(owned);
            quote!(::std::vec![#(#elements),*])
        }
        other => quote!(#other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(input: &str) -> Vec<String> {
        let input = syn::parse_str(input).expect("it is Rust");
        expand(&input).expect_err("it is wrong").into_iter().map(|error| error.to_string()).collect()
    }

    #[test]
    fn mistakes_are_told_clearly() {
        let only = |input| messages(input).pop().expect("a message");
        assert!(only("enum Gains { A }").contains("structs with named fields only"));
        assert!(only("struct Gains(f64);").contains("structs with named fields only"));
        let unknown = only("struct Gains { #[parameter(maximum = 1.0)] kp: f64 }");
        assert!(unknown.contains("no attribute `maximum`") && unknown.contains("`range`"), "{unknown}");
        assert!(only("struct Gains { #[parameter(default = 1, default = 2)] kp: i64 }").contains("given twice"));
        assert!(only("struct Gains { #[parameter(range = 0..10)] kp: i64 }").contains("`..=`"));
        assert!(only("struct Gains { #[parameter(nested, range = 0..=1)] pid: Pid }").contains("that struct's fields"));
        assert!(only("struct Gains { #[parameter(name = \"a..b\")] kp: f64 }").contains("between its dots"));
        assert!(only("#[parameters(krate = x)] struct Gains { kp: f64 }").contains("`crate = path`"));
    }

    #[test]
    fn all_that_is_wrong_is_said_at_once() {
        let both = messages("struct Gains { #[parameter(a)] kp: f64, #[parameter(b)] ki: f64 }");
        assert_eq!(both.len(), 2);
    }

    #[test]
    fn defaults_need_no_noise() {
        let code = |value: &str, ty: &str| {
            let value = syn::parse_str(value).expect("a value");
            let ty = syn::parse_str(ty).expect("a type");
            default_value(&value, &ty).to_string().replace(' ', "")
        };
        assert_eq!(code("1.5", "f64"), "1.5");
        assert_eq!(code("\"map\"", "String"), "::std::string::String::from(\"map\")");
        assert_eq!(code("[1, 2]", "Vec<i64>"), "::std::vec![1,2]");
        assert_eq!(code("1", "Option<i64>"), "::core::option::Option::Some(1)");
        assert_eq!(code("None", "Option<i64>"), "None");
        assert_eq!(code("Some(1)", "Option<i64>"), "Some(1)");
    }
}
