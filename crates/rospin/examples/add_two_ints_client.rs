//! Calls a service that adds two integers, as `ros2 run demo_nodes_cpp add_two_ints_client` does:
//! `cargo run -p rospin --features dds --example add_two_ints_client [A B]`.

#![expect(clippy::print_stdout, reason = "the sum is its purpose")]

use rospin::msgs::example_interfaces::srv::{AddTwoInts, AddTwoIntsRequest};

fn main() -> rospin::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut argument = |default| arguments.next().map_or(Ok(default), |text| text.parse::<i64>());
    let request = AddTwoIntsRequest { a: argument(2)?, b: argument(3)? };

    let ros = rospin::init()?;
    let node = ros.create_node("add_two_ints_client")?;
    let client = node.create_client::<AddTwoInts>("add_two_ints")?;
    let call = async {
        client.wait_for_service().await;
        client.call(request).await
    };
    println!("Result of add_two_ints: {}", ros.spin_until(call)??.sum);
    Ok(())
}
