//! Any text is a valid scenario, or is refused at one of its lines. A valid one survives writing and reading, and so
//! does its deployment.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rospin_scenario::{Deployment, Scenario};

fuzz_target!(|text: &str| {
    match Scenario::parse(text) {
        Ok(scenario) => {
            assert_eq!(Scenario::parse(&scenario.to_toml()).as_ref(), Ok(&scenario));
            let deployment = Deployment::describe(&scenario);
            assert_eq!(Deployment::parse(&deployment.to_toml()).as_ref(), Ok(&deployment));
        }
        Err(error) => assert!((1..=text.lines().count().max(1)).contains(&error.line), "{error}"),
    }
});
