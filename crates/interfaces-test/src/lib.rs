//! An interface package generated as a user's is. The tests beside it also cover those of `rospin-msgs`.

#![forbid(unsafe_code)]

rospin_msgs::include_interfaces!();
