// Parts that the tests have in common.
#ifndef RIG_HPP_
#define RIG_HPP_

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "rclcpp/rclcpp.hpp"
#include "rospin_rclcpp/executor.hpp"
#include "test_msgs/msg/empty.hpp"

namespace rig
{

using Empty = test_msgs::msg::Empty;

/// A limit for tests that hang. None of them needs it.
constexpr std::chrono::seconds LIMIT{30};

/// Spins until `is_done`, which callbacks make true.
inline bool spin_until(rclcpp::Executor & executor, const std::function<bool()> & is_done)
{
  const auto end = std::chrono::steady_clock::now() + LIMIT;
  while (!is_done()) {
    const auto left = end - std::chrono::steady_clock::now();
    if (left.count() <= 0) {
      return false;
    }
    executor.spin_once(left);
  }
  return true;
}

/// Waits until another thread makes `is_done` true.
inline bool wait_until(const std::function<bool()> & is_done)
{
  const auto end = std::chrono::steady_clock::now() + LIMIT;
  while (!is_done()) {
    if (std::chrono::steady_clock::now() >= end) {
      return false;
    }
    std::this_thread::yield();
  }
  return true;
}

/// A node whose topics stay in the process, so that what was published is there at once.
class Topics
{
public:
  explicit Topics(const std::string & name)
  : node(std::make_shared<rclcpp::Node>(name, options()))
  {
  }

  /// Creates a subscription that notes its topic when it runs.
  rclcpp::Subscription<Empty>::SharedPtr listen(
    const std::string & topic, const rclcpp::CallbackGroup::SharedPtr & group = nullptr,
    std::function<void()> then = []() {})
  {
    rclcpp::SubscriptionOptions options;
    options.callback_group = group;
    publishers.push_back(node->create_publisher<Empty>(topic, 10));
    return node->create_subscription<Empty>(
      topic, 10, [this, topic, then](Empty::ConstSharedPtr) {
        order.push_back(topic);
        then();
      }, options);
  }

  /// Publishes to all topics, in the order in which subscriptions were created.
  void publish()
  {
    for (const auto & publisher : publishers) {
      publisher->publish(Empty());
    }
  }

  /// Without events of its parameters, which the node listens to itself: only the topics have callbacks that run.
  static rclcpp::NodeOptions options()
  {
    return rclcpp::NodeOptions().use_intra_process_comms(true).start_parameter_event_publisher(false);
  }

  rclcpp::Node::SharedPtr node;
  std::vector<rclcpp::Publisher<Empty>::SharedPtr> publishers;
  /// The topics whose callbacks have run.
  std::vector<std::string> order;
};

using Order = std::vector<std::string>;

class Rclcpp : public ::testing::Test
{
protected:
  void SetUp() override
  {
    rclcpp::init(0, nullptr);
  }

  void TearDown() override
  {
    rclcpp::shutdown();
  }
};

}  // namespace rig

#endif  // RIG_HPP_
