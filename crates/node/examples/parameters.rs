//! A node whose parameters are a struct, and an operator who changes them from another node.
//!
//! `cargo run -p rospin-node --example parameters`

#![expect(clippy::print_stdout, reason = "it shows what happens")]

use std::time::Duration;

use rospin_engine::{Context, ContextOptions, ExecutorOptions, SpinOptions};
use rospin_node::{NodeOptions, ParameterSetting, ParameterValue, Parameters, Ros};

#[derive(Parameters)]
struct Motor {
    /// Maximum speed, in meters per second.
    #[parameter(default = 1.0, range = 0.0..=2.0, step = 0.5)]
    max_speed: f64,
    #[parameter(default = "base_link", read_only)]
    frame_id: String,
    #[parameter(nested)]
    pid: Pid,
}

#[derive(Parameters)]
struct Pid {
    #[parameter(default = 1.0)]
    p: f64,
    #[parameter(default = 0.1)]
    i: f64,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let context = Context::new(ContextOptions::new());
    let executor = context.create_executor(ExecutorOptions::new("main"));
    let ros = Ros::in_process(&context);

    let motor = ros.create_node(NodeOptions::new("motor").parameter_override("pid.p", 3.0))?;
    let parameters = motor.declare_parameters::<Motor>("")?;
    let _server = motor.serve_parameters(&executor.handle())?;
    let Motor { max_speed, frame_id, pid } = parameters.get();
    println!("motor: {max_speed} m/s in {frame_id}, p = {}, i = {}", pid.p, pid.i);

    let _check = motor.add_on_set_parameters_callback(|settings| {
        let is_negative = |value: &ParameterValue| matches!(value, ParameterValue::Double(value) if *value < 0.0);
        match settings.iter().find(|setting| is_negative(&setting.value)) {
            Some(setting) => Err(format!("{} must not be negative", setting.name)),
            None => Ok(()),
        }
    });
    let group = executor.create_group("motor", ());
    let _told = motor.create_post_set_parameters_callback(&group, |(), set| {
        for setting in &set {
            println!("motor: {} is now {}", setting.name, setting.value);
        }
    })?;

    let operator = ros.create_node("operator")?;
    let client = operator.create_parameter_client("/motor")?;
    let operate = async {
        client.wait_for_service().await;
        println!("operator: the motor has {}", client.list(&[], 0).await?.names.join(", "));
        for (name, value) in [("max_speed", 1.5), ("max_speed", 1.7), ("pid.p", -1.0), ("pid.q", 0.0)] {
            if let Err(error) = client.set_atomically(vec![ParameterSetting::new(name, value)]).await {
                println!("operator: {error}");
            }
        }
        client.get_one::<f64>("max_speed").await
    };
    let speed = executor.spin_until(operate, SpinOptions::new().timeout(Duration::from_secs(10)))??;
    println!("operator: the motor's speed is at most {speed} m/s");
    executor.spin(SpinOptions::spin_all())?;
    Ok(())
}
