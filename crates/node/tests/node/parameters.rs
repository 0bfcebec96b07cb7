//! Parameters of nodes from the side of the program that declares them.

use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex};

use rospin_engine::{Context, ContextOptions, Executor, ExecutorOptions, SpinOptions};
use rospin_node::{
    DeclareError, Node, NodeOptions, ParameterFile, ParameterOptions, ParameterSetting, ParameterValue, Parameters,
    Ros, SetParameterError, UndeclareError,
};

fn node_with(options: impl Into<NodeOptions>) -> (Executor, Node) {
    let context = Context::new(ContextOptions::new());
    let executor = context.create_executor(ExecutorOptions::new("main"));
    let node = Ros::in_process(&context)
        .create_node(options.into().start_parameter_services(false).start_type_description_service(false))
        .unwrap();
    (executor, node)
}

fn node() -> Node {
    node_with("node").1
}

fn settings<const N: usize>(settings: [(&str, ParameterValue); N]) -> Vec<ParameterSetting> {
    settings.into_iter().map(|(name, value)| ParameterSetting::new(name, value)).collect()
}

#[test]
fn all_types_can_be_declared_read_and_set() {
    let node = node();
    macro_rules! check {
        ($($name:literal: $type:ty = $first:expr, $second:expr;)*) => {$({
            let (first, second): ($type, $type) = ($first, $second);
            let parameter = node.declare_parameter($name, first.clone()).unwrap();
            assert_eq!(parameter.get(), first);
            parameter.set(second.clone()).unwrap();
            assert_eq!(parameter.get(), second);
            assert_eq!(node.parameter($name), Some(second.into()));
            let optional = node
                .declare_parameter::<Option<$type>>(concat!("optional.", $name), ParameterOptions::new())
                .unwrap();
            assert_eq!(optional.get(), None);
            optional.set(Some(first.clone())).unwrap();
            assert_eq!(optional.get(), Some(first));
            optional.set(None).unwrap();
            assert_eq!(optional.get(), None);
        })*};
    }
    check! {
        "bool": bool = false, true;
        "integer": i64 = i64::MIN, -1;
        "double": f64 = 0.5, -0.0;
        "string": String = "a".to_owned(), String::new();
        "bytes": Vec<u8> = vec![0, 255], vec![];
        "bools": Vec<bool> = vec![true], vec![];
        "integers": Vec<i64> = vec![1], vec![-1];
        "doubles": Vec<f64> = vec![1.0], vec![0.1];
        "strings": Vec<String> = vec!["a".to_owned()], vec![];
    }
}

#[test]
fn the_plain_value_says_the_type() {
    let node = node();
    assert_eq!(node.declare_parameter("integer", 3).unwrap().get(), 3_i64);
    assert_eq!(node.declare_parameter("double", 3.0).unwrap().get(), 3.0_f64);
    assert_eq!(node.declare_parameter("text", "three").unwrap().get(), "three");
    assert!(node.declare_parameter("flag", true).unwrap().clone().get());
    assert_eq!(node.declare_parameter("names", ["a", "b"]).unwrap().get(), ["a", "b"]);
    assert_eq!(node.declare_parameter("others", vec!["a"]).unwrap().get(), ["a"]);
    assert_eq!(node.declare_parameter("gains", [1.0, 2.0]).unwrap().get(), [1.0, 2.0]);
    assert_eq!(node.declare_parameter("flags", [true]).unwrap().get(), [true]);
    assert_eq!(node.declare_parameter("ids", [1_i64]).unwrap().get(), [1]);
}

#[test]
fn a_value_of_another_type_is_refused_unless_the_type_is_dynamic() {
    let node = node();
    let _rate = node.declare_parameter("rate", 10.0).unwrap();
    let error = node.set_parameter("rate", 10).unwrap_err();
    assert_eq!(
        error.to_string(),
        "parameter `rate` is of type double, the value is integer; write numbers with a decimal point, such as 1.0"
    );
    let error = node.set_parameter("rate", ParameterValue::NotSet).unwrap_err();
    assert!(matches!(error, SetParameterError::WrongType { .. }), "{error}");

    let any = node.declare_parameter("any", ParameterValue::from(1)).unwrap();
    node.set_parameter("any", "one").unwrap();
    assert_eq!(any.get(), ParameterValue::from("one"));
    let descriptor = node.describe_parameter("any").unwrap();
    assert!(descriptor.dynamic_typing);
    assert_eq!(descriptor.r#type, 4);
    // Unsetting a parameter of dynamic type removes it.
    node.set_parameter("any", ParameterValue::NotSet).unwrap();
    assert_eq!((node.parameter("any"), any.get()), (None, ParameterValue::NotSet));
    assert!(matches!(any.set(1.into()), Err(SetParameterError::NotDeclared { .. })));
}

#[test]
fn overrides_go_before_defaults_and_are_checked() {
    let options = NodeOptions::new("node")
        .parameter_override("rate", 50.0)
        .parameter_override("name", 7)
        .parameter_override("level", 11)
        .parameter_override("fixed", 2);
    let node = node_with(options).1;
    assert_eq!(node.declare_parameter("rate", 10.0).unwrap().get(), 50.0);
    assert_eq!(node.declare_parameter("fixed", ParameterOptions::from(1).ignore_override()).unwrap().get(), 1);
    let error = node.declare_parameter("name", "x").unwrap_err();
    assert_eq!(
        error.to_string(),
        "parameter `name` of node `/node` cannot start with its override: parameter `name` is of type string, the value is integer; set it to \
         a value of its type"
    );
    // `rospin::Error` would print a cause after the error, which has the same words already.
    assert!(std::error::Error::source(&error).is_none());
    let error = node.declare_parameter("level", ParameterOptions::from(1).range(0..=10)).unwrap_err();
    let DeclareError::Initial { reason, .. } = &error else { panic!("{error}") };
    assert!(matches!(**reason, SetParameterError::OutOfRange { .. }), "{error}");
    assert_eq!(node.list_parameters(&[], 0).names, ["fixed", "rate"]);
}

#[test]
fn a_parameter_that_cannot_be_declared_is_an_error_with_the_reason() {
    let node = node();
    let _rate = node.declare_parameter("rate", 1).unwrap();
    let again = node.declare_parameter("rate", 1).unwrap_err();
    assert_eq!(again, DeclareError::AlreadyDeclared { name: "rate".to_owned() });
    assert_eq!(node.declare_parameter("", 1).unwrap_err(), DeclareError::EmptyName);
    let error = node.declare_parameter::<i64>("port", ParameterOptions::new()).unwrap_err();
    let said = error.to_string();
    assert!(said.contains("`port` of node `/node`") && said.contains("give it a default"), "{said}");
    let range = ParameterOptions::from(1).range(RangeInclusive::new(10, 5));
    assert!(matches!(node.declare_parameter("level", range), Err(DeclareError::Range { .. })));
}

#[test]
fn ranges_hold_for_the_default_and_for_what_is_set() {
    let node = node();
    let options = ParameterOptions::from(1.0).range(0.0..=2.0).step(0.5).description("of the motor");
    let speed = node.declare_parameter("speed", options).unwrap();
    for (value, allowed) in [(0.0, true), (0.5, true), (2.0, true), (0.75, false), (2.5, false), (f64::NAN, false)] {
        assert_eq!(speed.set(value).is_ok(), allowed, "{value}");
    }
    assert_eq!(speed.get(), 2.0);
    let descriptor = node.describe_parameter("speed").unwrap();
    assert_eq!((descriptor.description.as_str(), descriptor.floating_point_range[0].step), ("of the motor", 0.5));
    let error = node.declare_parameter("level", ParameterOptions::from(11).range(..=10)).unwrap_err();
    assert!(error.to_string().contains("cannot start with its default"), "{error}");
}

#[test]
fn a_value_is_read_in_its_own_type_only() {
    let text = ParameterValue::from("a");
    assert_eq!((text.as_str(), text.as_bool(), text.as_i64(), text.as_f64()), (Some("a"), None, None, None));
    let values = [ParameterValue::from(true), 1.into(), 1.5.into(), ParameterValue::NotSet];
    assert_eq!(values.each_ref().map(ParameterValue::as_bool), [Some(true), None, None, None]);
    assert_eq!(values.each_ref().map(ParameterValue::as_i64), [None, Some(1), None, None]);
    assert_eq!(values.each_ref().map(ParameterValue::as_f64), [None, None, Some(1.5), None]);
    assert_eq!(values.each_ref().map(ParameterValue::as_str), [None; 4]);
    assert_eq!(ParameterValue::from(["a", "b"]), ParameterValue::from(vec!["a".to_owned(), "b".to_owned()]));
}

#[test]
fn read_only_parameters_stay_as_they_are() {
    let options = NodeOptions::new("node").parameter_override("id", 7);
    let node = node_with(options).1;
    let id = node.declare_parameter("id", ParameterOptions::from(1).read_only()).unwrap();
    assert_eq!(id.set(2), Err(SetParameterError::ReadOnly { name: "id".to_owned() }));
    assert_eq!(id.clone().undeclare(), Err(UndeclareError::ReadOnly { name: "id".to_owned() }));
    assert_eq!(id.get(), 7);
}

#[test]
fn undeclared_parameters_can_be_declared_anew() {
    let node = node();
    let rate = node.declare_parameter("rate", 1).unwrap();
    let clone = rate.clone();
    rate.undeclare().unwrap();
    assert_eq!((clone.get(), node.parameter("rate")), (1, None));
    assert_eq!(clone.set(2), Err(SetParameterError::NotDeclared { name: "rate".to_owned() }));
    assert!(matches!(node.undeclare_parameter("rate"), Err(UndeclareError::NotDeclared { .. })));
    let text = node.declare_parameter("rate", "fast").unwrap();
    assert_eq!((text.get().as_str(), clone.get()), ("fast", 1));
}

#[test]
fn several_are_set_all_or_none() {
    let node = node();
    let (low, high) = (node.declare_parameter("low", 1).unwrap(), node.declare_parameter("high", 2).unwrap());
    let _fixed = node.declare_parameter("fixed", ParameterOptions::from(0).read_only()).unwrap();
    for bad in [("high", ParameterValue::from("text")), ("nothing", 1.into()), ("fixed", 1.into())] {
        let error = node.set_parameters_atomically(settings([("low", 5.into()), bad])).unwrap_err();
        assert_eq!((low.get(), high.get()), (1, 2), "{error}");
    }
    node.set_parameters_atomically(settings([("low", 5.into()), ("high", 6.into())])).unwrap();
    assert_eq!((low.get(), high.get()), (5, 6));
    assert_eq!(node.set_parameters_atomically(Vec::<ParameterSetting>::new()), Ok(()));
}

#[test]
fn on_set_callbacks_see_all_values_at_once_and_the_last_one_is_asked_first() {
    let node = node();
    let (low, high) = (node.declare_parameter("low", 1).unwrap(), node.declare_parameter("high", 2).unwrap());
    let asked = Arc::new(Mutex::new(Vec::new()));
    let ask = |name: &'static str| {
        let asked = Arc::clone(&asked);
        move |settings: &[ParameterSetting]| {
            asked.lock().unwrap().push((name, settings.len()));
            if settings.iter().any(|setting| setting.value == ParameterValue::from(13)) {
                return Err(format!("{name} does not like 13"));
            }
            Ok(())
        }
    };
    let first = node.add_on_set_parameters_callback(ask("first"));
    let second = node.add_on_set_parameters_callback(ask("second"));
    node.set_parameters_atomically(settings([("low", 3.into()), ("high", 4.into())])).unwrap();
    assert_eq!(high.set(13).unwrap_err().to_string(), "second does not like 13");
    drop(second);
    assert_eq!(high.set(13).unwrap_err().to_string(), "first does not like 13");
    assert!(matches!(node.declare_parameter("unlucky", 13), Err(DeclareError::Initial { .. })));
    drop(first);
    high.set(13).unwrap();
    assert_eq!((low.get(), high.get()), (3, 13));
    let expected = [("second", 2), ("first", 2), ("second", 1), ("first", 1), ("first", 1)];
    assert_eq!(*asked.lock().unwrap(), expected);
}

#[test]
fn a_callback_that_panics_refuses() {
    let node = node();
    let rate = node.declare_parameter("rate", 1).unwrap();
    let on_set = node.add_on_set_parameters_callback(|_| panic!("out of order"));
    let error = rate.set(2).unwrap_err();
    assert_eq!(error, SetParameterError::Panicked { message: "out of order".to_owned() });
    drop(on_set);
    let pre_set = node.add_pre_set_parameters_callback(|_| panic!("out of order"));
    assert!(matches!(rate.set(2), Err(SetParameterError::Panicked { .. })));
    drop(pre_set);
    rate.set(3).unwrap();
    assert_eq!(rate.get(), 3);
}

#[test]
fn pre_set_callbacks_change_what_is_set() {
    let node = node();
    let (width, area) = (node.declare_parameter("width", 1).unwrap(), node.declare_parameter("area", 1).unwrap());
    let follow = node.add_pre_set_parameters_callback(|settings| {
        let width = settings.iter().find(|setting| setting.name == "width").map(|setting| setting.value.clone());
        if let Some(ParameterValue::Integer(width)) = width {
            settings.push(ParameterSetting::new("area", width * width));
        }
    });
    width.set(3).unwrap();
    assert_eq!((width.get(), area.get()), (3, 9));
    drop(follow);
    let _none = node.add_pre_set_parameters_callback(Vec::clear);
    assert_eq!(width.set(4), Err(SetParameterError::NothingLeft));
}

#[test]
fn checking_callbacks_can_read_parameters_but_not_change_them() {
    let node = node();
    let (low, high) = (node.declare_parameter("low", 1).unwrap(), node.declare_parameter("high", 5).unwrap());
    let refused = Arc::new(Mutex::new(Vec::new()));
    let _check = node.add_on_set_parameters_callback({
        let (node, low, high, refused) = (node.clone(), low.clone(), high.clone(), Arc::clone(&refused));
        move |settings| {
            refused.lock().unwrap().push(high.set(9).unwrap_err());
            assert!(matches!(node.declare_parameter("new", 1), Err(DeclareError::InsideCallback { .. })));
            assert!(matches!(node.undeclare_parameter("low"), Err(UndeclareError::InsideCallback { .. })));
            let is_above = |setting: &ParameterSetting| {
                matches!(setting.value, ParameterValue::Integer(value) if setting.name == "low" && value > high.get())
            };
            if settings.iter().any(is_above) {
                return Err(format!("low is {} and must not exceed high", low.get()));
            }
            Ok(())
        }
    });
    low.set(4).unwrap();
    assert_eq!(low.set(6).unwrap_err().to_string(), "low is 4 and must not exceed high");
    assert_eq!(*refused.lock().unwrap(), [SetParameterError::InsideCallback, SetParameterError::InsideCallback]);
    assert_eq!(high.get(), 5);
}

#[test]
fn a_change_is_checked_again_if_others_came_first() {
    let node = node();
    let (low, high) = (node.declare_parameter("low", 1).unwrap(), node.declare_parameter("high", 5).unwrap());
    let interfered = Mutex::new(false);
    let _check = node.add_on_set_parameters_callback({
        let (node, high) = (node.clone(), high.clone());
        move |settings| {
            let lows = settings.iter().filter(|setting| setting.name == "low");
            let checked = lows.clone().all(|low| ParameterValue::from(high.get()) != low.value);
            if lows.count() > 0 && !std::mem::replace(&mut *interfered.lock().unwrap(), true) {
                // Another thread always changes a parameter before the check ends.
                let node = node.clone();
                std::thread::spawn(move || node.set_parameter("high", 3).unwrap()).join().unwrap();
            }
            if checked { Ok(()) } else { Err("low is high".to_owned()) }
        }
    });
    assert_eq!(low.set(3).unwrap_err().to_string(), "low is high");
    assert_eq!((low.get(), high.get()), (1, 3));
}

#[test]
fn post_set_callbacks_are_entities_that_get_the_last_values() {
    let (executor, node) = node_with("node");
    let rate = node.declare_parameter("rate", 1).unwrap();
    let group = executor.create_group("group", Vec::new());
    let told = node
        .create_post_set_parameters_callback(&group, {
            let rate = rate.clone();
            move |log: &mut Vec<Vec<ParameterSetting>>, set| {
                // A post-set callback may set parameters.
                if rate.get() < 10 {
                    rate.set(10).unwrap();
                }
                log.push(set);
            }
        })
        .unwrap();
    rate.set(2).unwrap();
    rate.set(3).unwrap();
    let _name = node.declare_parameter("name", "x").unwrap();
    assert!(rate.get() == 3, "nothing runs before the executor spins");
    executor.spin(SpinOptions::spin_all()).unwrap();
    drop(told);
    rate.set(5).unwrap();
    executor.spin(SpinOptions::spin_all()).unwrap();
    let expected = [settings([("name", "x".into()), ("rate", 3.into())]), settings([("rate", 10.into())])];
    assert_eq!(group.into_payload().unwrap(), expected);
}

#[test]
fn parameters_that_many_threads_set_together_stay_together() {
    let node = node();
    let (low, high) = (node.declare_parameter("low", 0).unwrap(), node.declare_parameter("high", 0).unwrap());
    let _check = node.add_on_set_parameters_callback(|settings| {
        if settings.len() == 2 && settings[0].value == settings[1].value { Ok(()) } else { Err("differ".to_owned()) }
    });
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let node = &node;
            scope.spawn(move || {
                for n in 0..200 {
                    let value = ParameterValue::from(thread * 1000 + n);
                    let both = settings([("low", value.clone()), ("high", value)]);
                    let _contended = node.set_parameters_atomically(both);
                }
            });
        }
    });
    assert_eq!(low.get(), high.get());
}

#[test]
fn files_go_before_defaults_and_options_before_files() {
    let first = ParameterFile::parse("/**: {ros__parameters: {a: 1, b: 1, c: 1}}").unwrap();
    let second = ParameterFile::parse("node: {ros__parameters: {b: 2, c: 2}}").unwrap();
    let options = NodeOptions::new("node").parameter_override("c", 3).parameter_file(&first).parameter_file(&second);
    let node = node_with(options).1;
    let values = ["a", "b", "c", "d"].map(|name| node.declare_parameter(name, 0).unwrap().get());
    assert_eq!(values, [1, 2, 3, 0]);
}

/// An empty list gets its type from the declaration, and what no parameter can have fails only where it is declared.
#[test]
fn a_file_is_judged_entry_by_entry() {
    let text = "node:\n  ros__parameters:\n    names: []\n    unset: null\n    mixed: [1, x]\n    good: 2\n";
    let file = ParameterFile::parse(text).unwrap();
    let node = node_with(NodeOptions::new("node").parameter_file(&file)).1;
    assert_eq!(node.declare_parameter("names", vec!["a".to_owned()]).unwrap().get(), [""; 0]);
    let unset =
        node.declare_parameter::<Option<f64>>("unset", ParameterOptions::new().default_value(Some(1.0))).unwrap();
    assert_eq!(unset.get(), None);
    assert_eq!(node.declare_parameter("good", 1).unwrap().get(), 2);
    let error = node.declare_parameter("mixed", vec![1_i64]).unwrap_err();
    let expected = "parameter `mixed` of node `/node` cannot start with its override, which is a list with an integer and a string; \
                    make all of them the same type (`(text)`, line 5)";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_handle_does_not_get_at_a_later_parameter_of_its_name() {
    #[derive(Parameters)]
    struct Gains {
        #[parameter(default = 1)]
        gain: i64,
    }

    let node = node();
    let old = node.declare_parameter("gain", 1).unwrap();
    node.undeclare_parameter("gain").unwrap();
    let old_set = node.declare_parameters::<Gains>("").unwrap();
    node.undeclare_parameter("gain").unwrap();
    let new = node.declare_parameter("gain", 10).unwrap();
    let gone = SetParameterError::NotDeclared { name: "gain".to_owned() };
    assert_eq!(old.set(2), Err(gone.clone()));
    assert_eq!(old_set.set(Gains { gain: 2 }), Err(gone));
    assert_eq!((old.get(), old_set.get().gain), (1, 1));
    assert_eq!(old.undeclare(), Err(UndeclareError::NotDeclared { name: "gain".to_owned() }));
    new.set(11).unwrap();
    assert_eq!((new.get(), node.parameter("gain")), (11, Some(11.into())));
}

#[test]
fn values_are_converted_to_plain_types() {
    assert_eq!(i64::try_from(ParameterValue::from(5)), Ok(5));
    assert_eq!(Vec::<String>::try_from(ParameterValue::from(vec!["a".to_owned()])), Ok(vec!["a".to_owned()]));
    let error = f64::try_from(ParameterValue::from(5)).unwrap_err();
    assert_eq!(error.to_string(), "the value is of type integer, not of type double");
    let error = bool::try_from(ParameterValue::NotSet).unwrap_err();
    assert_eq!(error.to_string(), "the value is not set, and should be of type bool");
}

#[test]
fn a_post_set_callback_runs_on_the_nodes_own_group() {
    let ros = Ros::in_process(&Context::new(ContextOptions::new()));
    let node = ros.create_node("node").unwrap();
    let rate = node.declare_parameter("rate", 1).unwrap();
    let told = Arc::new(Mutex::new(Vec::new()));
    let to = Arc::clone(&told);
    let callback = node.add_post_set_parameters_callback(move |settings| to.lock().unwrap().extend(settings.to_vec()));
    let callback = callback.unwrap();
    rate.set(2).unwrap();
    ros.executor().spin(SpinOptions::spin_all()).unwrap();
    assert_eq!(told.lock().unwrap().last(), Some(&ParameterSetting::new("rate", 2)));
    drop(callback);
}
