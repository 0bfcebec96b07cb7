// Sources of waitables: events of publishers and subscriptions, servers and clients of actions, and those of programs.
#ifndef WAITABLES_HPP_
#define WAITABLES_HPP_

#include <memory>

#include "rclcpp/rclcpp.hpp"
#include "source.hpp"

namespace rospin
{

std::shared_ptr<Source> source_of(const rclcpp::Waitable::SharedPtr & waitable);

}  // namespace rospin

#endif  // WAITABLES_HPP_
