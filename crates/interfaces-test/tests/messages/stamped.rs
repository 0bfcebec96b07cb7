//! The stamps of generated messages.

use rospin_interfaces_test::kinds_msgs::msg::Headed;
use rospin_msgs::builtin_interfaces::msg::Time;
use rospin_msgs::sensor_msgs::msg::Image;
use rospin_msgs::std_msgs::msg::Header;
use rospin_wire::Stamped;

fn header(sec: i32, nanosec: u32) -> Header {
    Header { stamp: Time { sec, nanosec }, ..Header::default() }
}

#[test]
fn a_message_has_the_stamp_of_the_header_that_is_its_first_field() {
    let image = Image { header: header(3, 5), ..Image::default() };
    assert_eq!((image.stamp_ns(), image.header.stamp_ns()), (3_000_000_005, 3_000_000_005));
    let headed = Headed { r#type: header(-1, 999_999_999), other: header(7, 0) };
    assert_eq!(headed.stamp_ns(), -1, "stamps may be before the epoch");
}
