// Components for the tests of containers.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <memory>
#include <stdexcept>
#include <thread>

#include "rclcpp/rclcpp.hpp"
#include "rclcpp_components/register_node_macro.hpp"
#include "test_msgs/msg/basic_types.hpp"

namespace rospin_test
{

using Number = test_msgs::msg::BasicTypes;

/// Thrown by a component. The component's library has the code of it.
class Zero : public std::exception
{
public:
  const char * what() const noexcept override
  {
    return "zero times anything is zero";
  }
};

/// Answers each number with the number times the parameter `factor`. If it is zero, it throws; if it is negative, it
/// throws something that is no exception of the standard library.
class Times : public rclcpp::Node
{
public:
  explicit Times(const rclcpp::NodeOptions & options)
  : Node("times", options), factor_(declare_parameter<int64_t>("factor", 1))
  {
    answers_ = create_publisher<Number>("answers", rclcpp::QoS(10).transient_local());
    numbers_ = create_subscription<Number>(
      "numbers", rclcpp::QoS(10).transient_local(), [this](Number::ConstSharedPtr number) {
        if (number->int64_value == 0) {
          throw Zero();
        }
        if (number->int64_value < 0) {
          throw number->int64_value;
        }
        Number answer;
        answer.int64_value = factor_ * number->int64_value;
        answers_->publish(answer);
      });
  }

private:
  const int64_t factor_;
  rclcpp::Publisher<Number>::SharedPtr answers_;
  rclcpp::Subscription<Number>::SharedPtr numbers_;
};

/// Ticks in a group that runs on several threads, and ends the program if it does so after its end.
class Busy : public rclcpp::Node
{
public:
  explicit Busy(const rclcpp::NodeOptions & options)
  : Node("busy", options)
  {
    group_ = create_callback_group(rclcpp::CallbackGroupType::Reentrant);
    const auto tick = [this]() {
        // Most unloads come meanwhile.
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        if (!is_alive_.load()) {
          std::abort();
        }
      };
    for (auto & timer : timers_) {
      timer = create_wall_timer(std::chrono::microseconds(100), tick, group_);
    }
  }

  ~Busy() override
  {
    is_alive_.store(false);
  }

private:
  std::atomic<bool> is_alive_{true};
  rclcpp::CallbackGroup::SharedPtr group_;
  rclcpp::TimerBase::SharedPtr timers_[3];
};

/// Cannot be created.
class Broken : public rclcpp::Node
{
public:
  explicit Broken(const rclcpp::NodeOptions & options)
  : Node("broken", options)
  {
    throw std::runtime_error("no lens");
  }
};

}  // namespace rospin_test

RCLCPP_COMPONENTS_REGISTER_NODE(rospin_test::Times)
RCLCPP_COMPONENTS_REGISTER_NODE(rospin_test::Busy)
RCLCPP_COMPONENTS_REGISTER_NODE(rospin_test::Broken)
