//! Attributes of a struct and of its fields.

use syn::ext::IdentExt;
use syn::meta::ParseNestedMeta;
use syn::{Attribute, Error, Expr, ExprLit, Field, Lit, LitStr, Path, RangeLimits, Result, parse_quote};

/// The attributes of fields, for error messages.
const KNOWN: &str = "`default`, `description`, `range`, `step`, `additional_constraints`, `read_only`, \
                     `ignore_override`, `name`, `nested`";

/// Returns the path of the crate with the trait: that of the struct's `#[parameters(crate = ...)]`, by default
/// `::rospin`.
pub(crate) fn crate_path(attributes: &[Attribute]) -> Result<Path> {
    let mut path = parse_quote!(::rospin);
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("parameters")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("crate") {
                return Err(meta.error("the only attribute of the struct is `crate = path`"));
            }
            path = meta.value()?.parse()?;
            Ok(())
        })?;
    }
    Ok(path)
}

/// The `#[parameter(...)]` of a field, and its documentation.
#[derive(Default)]
pub(crate) struct FieldAttributes {
    pub(crate) default: Option<DefaultValue>,
    pub(crate) description: Option<LitStr>,
    pub(crate) range: Option<Expr>,
    pub(crate) step: Option<Expr>,
    pub(crate) additional_constraints: Option<LitStr>,
    pub(crate) read_only: bool,
    pub(crate) ignore_override: bool,
    pub(crate) name: Option<LitStr>,
    /// True if the field is a struct whose fields are parameters, in place of a parameter.
    pub(crate) nested: bool,
}

/// The default of a parameter.
pub(crate) enum DefaultValue {
    /// The default of the field's type.
    OfType,
    /// The expression of `default = ..`.
    Value(Box<Expr>),
}

impl FieldAttributes {
    /// Reads the attributes of a field. The error names one that is unknown, given twice or pointless.
    pub(crate) fn of(field: &Field) -> Result<Self> {
        let mut all = Self::default();
        let mut seen = Vec::new();
        for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("parameter")) {
            attribute.parse_nested_meta(|meta| {
                let key = meta.path.require_ident()?.unraw().to_string();
                if seen.contains(&key) {
                    return Err(meta.error(format!("`{key}` is given twice")));
                }
                all.read(&key, &meta)?;
                seen.push(key);
                Ok(())
            })?;
        }
        let pointless = seen.iter().find(|key| all.nested && *key != "nested" && *key != "name");
        if let Some(key) = pointless {
            let message = format!("`{key}` says nothing of a nested struct; put it on that struct's fields");
            return Err(Error::new_spanned(&field.ident, message));
        }
        all.description = all.description.or_else(|| documentation(&field.attrs));
        Ok(all)
    }

    /// Reads the attribute called `key`.
    fn read(&mut self, key: &str, meta: &ParseNestedMeta<'_>) -> Result<()> {
        match key {
            "default" if meta.input.peek(syn::Token![=]) => {
                self.default = Some(DefaultValue::Value(Box::new(meta.value()?.parse()?)));
            }
            "default" => self.default = Some(DefaultValue::OfType),
            "description" => self.description = Some(meta.value()?.parse()?),
            "range" => self.range = Some(range(meta.value()?.parse()?)?),
            "step" => self.step = Some(meta.value()?.parse()?),
            "additional_constraints" => self.additional_constraints = Some(meta.value()?.parse()?),
            "read_only" => self.read_only = true,
            "ignore_override" => self.ignore_override = true,
            "name" => self.name = Some(name(meta.value()?.parse()?)?),
            "nested" => self.nested = true,
            unknown => {
                return Err(meta.error(format!("there is no attribute `{unknown}` of a parameter; there are {KNOWN}")));
            }
        }
        Ok(())
    }
}

/// Returns the range, which must include its end.
fn range(range: Expr) -> Result<Expr> {
    if let Expr::Range(half_open) = &range
        && let (RangeLimits::HalfOpen(_), Some(_)) = (&half_open.limits, &half_open.end)
    {
        return Err(Error::new_spanned(&range, "the range of a parameter includes its end; write it with `..=`"));
    }
    Ok(range)
}

/// Returns the name, which must have words between its dots.
fn name(name: LitStr) -> Result<LitStr> {
    let text = name.value();
    if text.is_empty() || text.split('.').any(str::is_empty) {
        return Err(Error::new_spanned(
            &name,
            "a parameter's name has words between its dots, such as `motor.max_speed`",
        ));
    }
    Ok(name)
}

/// Returns the documentation in one line, or `None` if there is none.
fn documentation(attributes: &[Attribute]) -> Option<LitStr> {
    let lines = attributes.iter().filter_map(|attribute| {
        let value = &attribute.meta.require_name_value().ok().filter(|meta| meta.path.is_ident("doc"))?.value;
        let Expr::Lit(ExprLit { lit: Lit::Str(line), .. }) = value else {
            return None;
        };
        Some(line.clone())
    });
    let lines: Vec<_> = lines.collect();
    let text = lines.iter().map(|line| line.value().trim().to_owned()).collect::<Vec<_>>().join(" ");
    Some(LitStr::new(text.trim(), lines.first()?.span()))
}
