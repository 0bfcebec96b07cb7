//! Parameter files beside rcl: every value in these tables is what `rcl_yaml_param_parser` 10.1.3 gives for the text.

use super::*;
use crate::features::parameters::value::{ParameterKind, ParameterValue};

/// Returns the parameters of a node, with the values that a declaration of any type gets.
fn values(text: &str, name: &str) -> Vec<(String, ParameterValue)> {
    let node = NodeName::new("/", name).unwrap();
    let file = ParameterFile::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    file.of_node(&node).filter_map(|(name, given)| Some((name, given.value(None, true, None).ok()?))).collect()
}

/// Returns the value of `p`, between other entries.
fn value(text: &str) -> ParameterValue {
    let found = values(&format!("n:\n  ros__parameters:\n    before: 1\n    p: {text}\n    after: 2\n"), "n");
    let names: Vec<_> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["before", "p", "after"], "{text}");
    found[1].1.clone()
}

#[test]
fn scalars_have_the_values_that_rcl_gives_them() {
    let infinity = f64::INFINITY;
    let cases: [(&str, ParameterValue); 58] = [
        ("inf", infinity.into()),
        ("-inf", (-infinity).into()),
        ("infinity", infinity.into()),
        ("INF", infinity.into()),
        (".inf", infinity.into()),
        ("-.INF", (-infinity).into()),
        ("+.inf", infinity.into()),
        ("infinite", "infinite".into()),
        ("1_000", "1_000".into()),
        ("100_000.5", "100_000.5".into()),
        ("0b11", "0b11".into()),
        ("0b", "0b".into()),
        ("0o17", "0o17".into()),
        ("0x1F", 31.into()),
        ("-0x1f", (-31).into()),
        ("0x", "0x".into()),
        ("0x1p3", 8.0.into()),
        ("0x1.8p1", 3.0.into()),
        ("010", 8.into()),
        ("0777", 511.into()),
        ("08", 8.0.into()),
        ("1e3", 1000.0.into()),
        ("1.", 1.0.into()),
        (".5", 0.5.into()),
        ("+5", 5.into()),
        ("-5", (-5).into()),
        ("1e400", "1e400".into()),
        ("1e-400", "1e-400".into()),
        ("0e-400", 0.0.into()),
        ("1f", "1f".into()),
        ("1,5", "1,5".into()),
        ("9223372036854775807", i64::MAX.into()),
        ("9223372036854775808", 9_223_372_036_854_775_808.0.into()),
        ("-9223372036854775808", i64::MIN.into()),
        ("y", true.into()),
        ("Yes", true.into()),
        ("on", true.into()),
        ("True", true.into()),
        ("tRue", "tRue".into()),
        ("n", false.into()),
        ("off", false.into()),
        ("!!str 5", "5".into()),
        ("!!int \"5\"", "5".into()),
        ("!!float 1", 1.into()),
        ("!mine 5", 5.into()),
        ("!!binary aGVsbG8=", "aGVsbG8=".into()),
        ("'5'", "5".into()),
        ("\"a\\nb\"", "a\nb".into()),
        ("\"\\x41\"", "A".into()),
        ("''", "".into()),
        ("|\n      line\n      two", "line\ntwo\n".into()),
        (">\n      line\n      two", "line two\n".into()),
        ("|-\n      5", 5.into()),
        ("2024-01-01", "2024-01-01".into()),
        ("1:30", "1:30".into()),
        ("<<", "<<".into()),
        ("$(find x)", "$(find x)".into()),
        ("&a 5", 5.into()),
    ];
    for (text, expected) in cases {
        assert_eq!(value(text), expected, "{text}");
    }
    for text in ["nan", "NaN", ".nan", ".NAN", "nan(x)"] {
        assert!(matches!(value(text), ParameterValue::Double(value) if value.is_nan()), "{text}");
    }
}

#[test]
fn lists_have_the_values_that_rcl_gives_them() {
    let strings = |list: &[&str]| ParameterValue::from(list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
    let cases: [(&str, ParameterValue); 9] = [
        ("[1, 2]", vec![1_i64, 2].into()),
        ("[0x10, 1]", vec![16_i64, 1].into()),
        ("[1,]", vec![1_i64].into()),
        ("[true, no]", vec![true, false].into()),
        ("[inf, .5]", vec![f64::INFINITY, 0.5].into()),
        ("[a, b]", strings(&["a", "b"])),
        ("['1', \"2\"]", strings(&["1", "2"])),
        ("[null, ~]", strings(&["null", "~"])),
        ("[\"\"]", strings(&[""])),
    ];
    for (text, expected) in cases {
        assert_eq!(value(text), expected, "{text}");
    }
}

/// rcl starts a program with these files, too.
#[test]
fn an_odd_entry_leaves_the_others() {
    let odd = ["[]", "null", "~", "[{x: 1}, {x: 2}]", "[[]]", "[1, [2, 3]]"];
    for text in odd {
        let file = format!("m:\n  ros__parameters:\n    odd: {text}\n    m: 1\nn:\n  ros__parameters:\n    a: 2\n");
        assert_eq!(values(&file, "n"), [("a".to_owned(), 2.into())], "{text}");
        assert!(values(&file, "m").contains(&("m".to_owned(), 1.into())), "{text}");
    }
}

/// What is given for one parameter, as declarations of several types see it.
#[test]
fn a_value_is_judged_by_the_declaration() {
    let given = |text: &str| {
        let node = NodeName::new("/", "n").unwrap();
        let file = ParameterFile::parse(&format!("n:\n  ros__parameters:\n    p: {text}\n")).unwrap();
        file.of_node(&node).next().expect("it is there").1
    };
    let strings = ParameterValue::from(Vec::<String>::new());
    assert_eq!(given("[]").value(Some(ParameterKind::StringArray), false, None), Ok(strings.clone()));
    assert_eq!(given("[]").value(None, true, Some(&vec!["a".to_owned()].into())), Ok(strings));
    assert_eq!(given("[]").value(None, true, None), Ok(ParameterValue::NotSet));
    assert!(given("[]").value(Some(ParameterKind::Double), false, None).unwrap_err().contains("empty list"));
    for null in ["null", "~", "Null", "NULL"] {
        assert_eq!(given(null).value(Some(ParameterKind::String), false, None), Ok(null.into()));
        assert_eq!(given(null).value(Some(ParameterKind::String), true, None), Ok(ParameterValue::NotSet));
    }
    for (text, said) in [
        ("", "has no value"),
        ("[1, 1.5]", "a list with an integer and a double"),
        ("['1', 2]", "a list with a string and an integer"),
        ("[1, null]", "a list with an integer and a string"),
        ("[[1]]", "a list of lists"),
        ("[{a: 1}]", "a list of mappings"),
    ] {
        let reason = given(text).value(Some(ParameterKind::IntegerArray), false, None).unwrap_err();
        assert!(reason.contains(said) && reason.ends_with("(`(text)`, line 3)"), "{text}: {reason}");
    }
}

#[test]
fn arguments_have_the_values_of_files() {
    let of = |argument: &str| ParameterFile::of_argument(argument).map(|file| file.sections[0].1[0].1.clone());
    assert_eq!(of("names:=[]"), Ok(Given::EmptyList));
    assert_eq!(of("it:=inf"), Ok(Given::Value(f64::INFINITY.into())));
    assert_eq!(of("it:=- 1"), Ok(Given::Value(vec![1_i64].into())));
    assert_eq!(of("it:=|\n  a"), Ok(Given::Value("a".into())));
    for (argument, said) in
        [("it:=", "no value"), ("it:=[1, x]", "a list with"), ("it:={a: 1}", "a mapping"), ("it:=[1", "YAML")]
    {
        assert!(of(argument).unwrap_err().contains(said), "{argument}");
    }
}

#[test]
fn sections_documents_and_keys_come_twice() {
    let one = |value: i64| ("a".to_owned(), ParameterValue::from(value));
    let last = |text: &str| values(text, "n").into_iter().rev().find(|(name, _)| name == "a").expect("it is there");
    assert_eq!(last("n:\n  ros__parameters: {a: 1, b: 1}\nn:\n  ros__parameters: {a: 2}\n"), one(2));
    assert_eq!(last("n:\n  ros__parameters: {a: 1}\n  ros__parameters: {a: 2}\n"), one(2));
    assert_eq!(last("n:\n  ros__parameters:\n    a: 1\n    a: 2\n"), one(2));
    assert_eq!(last("---\nm:\n  ros__parameters: {b: 1}\n---\nn:\n  ros__parameters: {a: 2}\n...\n"), one(2));
    // A section that comes again adds to the first one, before the section between them.
    assert_eq!(
        last("n: {ros__parameters: {a: 1}}\n/**: {ros__parameters: {a: 2}}\nn: {ros__parameters: {a: 3}}\n"),
        one(2)
    );
}

#[test]
fn names_that_can_match_nothing_are_refused() {
    for name in ["/foo*/camera", "my-camera", "/**foo", "//n*", "5", "n.m", "~n", "/a-b/n", "a b"] {
        let text = format!("n:\n  ros__parameters: {{a: 1}}\n\"{name}\":\n  ros__parameters: {{b: 1}}\n");
        let error = ParameterFile::parse(&text).expect_err(name).to_string();
        assert!(error.contains(name.trim_start_matches('/')) && error.contains("line 3"), "{name}: {error}");
    }
    for name in ["_n", "n5", "/**", "/*", "**", "/**/**", "/a/**/b", "/a/*", "/*/*", "/n/", "A_1/b_2"] {
        let text = format!("\"{name}\":\n  ros__parameters: {{b: 1}}\n");
        assert!(ParameterFile::parse(&text).is_ok(), "{name}");
    }
}

#[test]
fn errors_are_in_our_words() {
    for (text, expected) in [
        ("a: {ros__parameters: {b: *c}}", "line 1"),
        ("a:\n  ros__parameters:\n\tb: 1\n", "line 3"),
        ("a:\n  ros__parameters:\n    ? [b]\n    : 1\n", "line 3"),
        ("a: {ros__parameters: {b: \"x}}", "line 1"),
    ] {
        let error = ParameterFile::parse(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
        for foreign in ["Options", "Policy", "serde", "AliasLimits"] {
            assert!(!error.contains(foreign), "{text}: {error}");
        }
    }
}
