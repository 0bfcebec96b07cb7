// Sources of timers' ticks.
#ifndef TIMERS_HPP_
#define TIMERS_HPP_

#include <memory>

#include "rclcpp/rclcpp.hpp"
#include "source.hpp"

namespace rospin
{

/// Returns the source of a timer on any clock. Due times are on the clock of `context`.
std::shared_ptr<Source> source_of(
  const rclcpp::TimerBase::SharedPtr & timer, std::shared_ptr<const rospin_context> context);

}  // namespace rospin

#endif  // TIMERS_HPP_
