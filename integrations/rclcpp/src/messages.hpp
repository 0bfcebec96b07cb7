// Sources of what the middleware brings: messages, requests and responses.
#ifndef MESSAGES_HPP_
#define MESSAGES_HPP_

#include <memory>

#include "rclcpp/rclcpp.hpp"
#include "source.hpp"

namespace rospin
{

std::shared_ptr<Source> source_of(const rclcpp::SubscriptionBase::SharedPtr & subscription);
std::shared_ptr<Source> source_of(const rclcpp::ServiceBase::SharedPtr & service);
std::shared_ptr<Source> source_of(const rclcpp::ClientBase::SharedPtr & client);

/// Returns the waitable of a subscription's messages of the same process; null if it has none.
rclcpp::Waitable::SharedPtr intra_process_of(const rclcpp::SubscriptionBase & subscription);

}  // namespace rospin

#endif  // MESSAGES_HPP_
