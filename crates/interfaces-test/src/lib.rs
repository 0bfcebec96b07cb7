//! A package of messages of our own, generated as a user's is. The tests beside it look at those of `rospin-msgs`, too.

#![forbid(unsafe_code)]

rospin_msgs::include_interfaces!();
