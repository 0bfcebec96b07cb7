//! Generated types on topics, services and actions, as a program uses them, in one process.

use std::sync::mpsc;

use custom_messages::robot_msgs::action::{Dock, DockFeedback, DockGoal, DockResult};
use custom_messages::robot_msgs::msg::Status;
use custom_messages::robot_msgs::srv::{SetMode, SetModeRequest, SetModeResponse};
use rospin::prelude::*;

fn ros() -> Ros {
    Ros::in_process(&Context::new(ContextOptions::new()))
}

#[test]
fn a_message_arrives_with_its_defaults() {
    let ros = ros();
    let node = ros.create_node("robot").unwrap();
    let publisher = node.create_publisher::<Status>("status").unwrap();
    let (sender, heard) = mpsc::channel();
    let _subscription = node.create_subscription("status", move |status: Status| sender.send(status)).unwrap();
    let status = Status { mode: Status::CHARGING, wheel_speeds: vec![0.5, -0.5], ..Status::default() };
    publisher.publish(status.clone()).unwrap();
    ros.executor().spin(SpinOptions::spin_all()).unwrap();
    assert_eq!(heard.try_recv(), Ok(status.clone()));
    assert_eq!((status.battery, status.mode), (1.0, 2));
}

#[test]
fn a_service_answers() {
    let ros = ros();
    let node = ros.create_node("robot").unwrap();
    let _server = node
        .create_service("set_mode", |request: SetModeRequest| SetModeResponse {
            success: request.mode <= Status::CHARGING,
            ..Default::default()
        })
        .unwrap();
    let client = node.create_client::<SetMode>("set_mode").unwrap();
    let call = client.call(SetModeRequest { mode: Status::DRIVING });
    assert!(ros.executor().spin_until(call, SpinOptions::new()).unwrap().unwrap().success);
}

#[test]
fn an_action_gives_feedback_and_a_result() {
    let ros = ros();
    let node = ros.create_node("robot").unwrap();
    let _server = node
        .create_action_server(
            "dock",
            |_, _: &DockGoal| GoalResponse::AcceptAndExecute,
            |_, _| CancelResponse::Accept,
            |goal: GoalHandle<Dock>| async move {
                goal.publish_feedback(DockFeedback { distance: 0.25 }).unwrap();
                goal.succeed(DockResult { battery: 0.5 });
            },
        )
        .unwrap();
    let client = node.create_action_client::<Dock>("dock").unwrap();
    let dock = async {
        client.wait_for_server().await;
        client.send_goal(DockGoal { charger: "hall".to_owned() }).await.unwrap().result().await
    };
    assert_eq!(ros.executor().spin_until(dock, SpinOptions::new()).unwrap().unwrap().result.battery, 0.5);
}
