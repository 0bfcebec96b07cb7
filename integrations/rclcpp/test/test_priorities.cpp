// The order of callbacks.
#include "rig.hpp"

using rig::Order;
using rig::Topics;
using std::chrono::nanoseconds;

class Priorities : public rig::Rclcpp {};

TEST_F(Priorities, decide_the_order)
{
  Topics topics("planner");
  rospin::Executor executor;
  const auto map = topics.listen("map");
  const auto scan = topics.listen("scan");
  const auto stop = topics.listen("stop");
  executor.set_priority(scan, 5);
  executor.set_priority(stop, 9);
  executor.add_node(topics.node);
  topics.publish();
  executor.spin_all(nanoseconds(0));
  EXPECT_EQ(topics.order, (Order{"stop", "scan", "map"}));
}

TEST_F(Priorities, of_equals_the_first_one_runs_first)
{
  Topics topics("planner");
  rospin::Executor executor;
  const auto b = topics.listen("b");
  const auto a = topics.listen("a");
  executor.add_node(topics.node);
  topics.publish();
  topics.publish();
  executor.spin_all(nanoseconds(0));
  EXPECT_EQ(topics.order, (Order{"b", "a", "b", "a"}));
}

TEST_F(Priorities, of_a_group_are_those_of_callbacks_without_one)
{
  Topics topics("planner");
  rospin::Executor executor;
  const auto group = topics.node->create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive);
  const auto map = topics.listen("map");
  const auto scan = topics.listen("scan", group);
  const auto stop = topics.listen("stop", group);
  executor.set_priority(group, 5);
  executor.set_priority(stop, 9);
  executor.add_node(topics.node);
  topics.publish();
  executor.spin_all(nanoseconds(0));
  EXPECT_EQ(topics.order, (Order{"stop", "scan", "map"}));
}

TEST_F(Priorities, may_be_set_while_messages_wait)
{
  Topics topics("planner");
  rospin::Executor executor;
  const auto map = topics.listen("map");
  const auto stop = topics.listen("stop");
  executor.add_node(topics.node);
  topics.publish();
  topics.publish();
  executor.set_priority(stop, 9);
  executor.spin_all(nanoseconds(0));
  EXPECT_EQ(topics.order, (Order{"stop", "stop", "map", "map"}));
}

TEST_F(Priorities, decide_again_after_each_callback)
{
  Topics topics("planner");
  rospin::Executor executor;
  const auto map = topics.listen("map", nullptr, [&]() {topics.publishers[1]->publish(rig::Empty());});
  const auto stop = topics.listen("stop");
  executor.set_priority(stop, 9);
  executor.add_node(topics.node);
  topics.publishers[0]->publish(rig::Empty());
  topics.publishers[0]->publish(rig::Empty());
  executor.spin_all(nanoseconds(0));
  EXPECT_EQ(topics.order, (Order{"map", "stop", "map", "stop"}));
}

TEST_F(Priorities, of_timers_count_beside_those_of_messages)
{
  Topics topics("planner");
  rospin::Executor executor;
  const auto map = topics.listen("map");
  const auto timer = topics.node->create_wall_timer(
    nanoseconds(1), [&]() {
      topics.order.push_back("timer");
      executor.cancel();
    });
  executor.set_priority(timer, 5);
  executor.add_node(topics.node);
  topics.publish();
  executor.spin();
  EXPECT_EQ(topics.order, (Order{"timer"}));
}
