// Random programs that add, remove and cancel while an executor spins. ROSPIN_TEST_PROGRAMS says how many.
#include <atomic>
#include <cstdlib>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "rig.hpp"

using rig::Empty;

class Changes : public rig::Rclcpp {};

namespace
{

/// A node with subscriptions, timers and groups that come and go.
class Part
{
public:
  explicit Part(const std::string & name)
  : node(std::make_shared<rclcpp::Node>(name, rclcpp::NodeOptions().use_intra_process_comms(true))),
    publisher(node->create_publisher<Empty>(name, 10))
  {
  }

  void listen(std::mt19937 & random)
  {
    rclcpp::SubscriptionOptions options;
    if (random() % 2 == 0) {
      const bool is_reentrant = random() % 2 == 0;
      options.callback_group = node->create_callback_group(
        is_reentrant ? rclcpp::CallbackGroupType::Reentrant : rclcpp::CallbackGroupType::MutuallyExclusive);
    }
    groups.push_back(options.callback_group);
    subscriptions.push_back(
      node->create_subscription<Empty>(
        node->get_name(), 10, [this](Empty::ConstSharedPtr) {runs += 1;}, options));
  }

  void tick()
  {
    timers.push_back(node->create_wall_timer(std::chrono::microseconds(200), [this]() {runs += 1;}));
  }

  /// Drops everything that was created, groups first or last.
  void drop(std::mt19937 & random)
  {
    if (random() % 2 == 0) {
      groups.clear();
    }
    subscriptions.clear();
    timers.clear();
    groups.clear();
  }

  const rclcpp::Node::SharedPtr node;
  const rclcpp::Publisher<Empty>::SharedPtr publisher;
  std::vector<rclcpp::CallbackGroup::SharedPtr> groups;
  std::vector<rclcpp::SubscriptionBase::SharedPtr> subscriptions;
  std::vector<rclcpp::TimerBase::SharedPtr> timers;
  std::atomic<int> runs{0};
  bool is_added = false;
};

void change(Part & part, rospin::Executor & executor, std::mt19937 & random)
{
  switch (random() % 8) {
    case 0:
      if (part.is_added) {
        executor.remove_node(part.node);
      } else {
        executor.add_node(part.node);
      }
      part.is_added = !part.is_added;
      break;
    case 1:
      part.listen(random);
      break;
    case 2:
      part.tick();
      break;
    case 3:
      part.drop(random);
      break;
    case 4:
      executor.cancel();
      break;
    case 5:
      if (!part.timers.empty()) {
        part.timers.back()->cancel();
        part.timers.back()->reset();
      }
      break;
    case 6:
      if (!part.subscriptions.empty()) {
        executor.set_priority(part.subscriptions.back(), random() % 5);
      }
      break;
    default:
      part.publisher->publish(Empty());
  }
}

}  // namespace

TEST_F(Changes, a_node_may_end_after_its_callbacks_were_waited_for)
{
  rospin::Executor executor(rclcpp::ExecutorOptions(), 2);
  const auto node = rig::Topics("left").node;
  const auto publisher = node->create_publisher<Empty>("long", 10);
  std::atomic<bool> has_begun{false};
  std::atomic<bool> may_end{false};
  std::atomic<bool> has_ended{false};
  const auto subscription = node->create_subscription<Empty>(
    "long", 10, [&](Empty::ConstSharedPtr) {
      has_begun = true;
      EXPECT_TRUE(rig::wait_until([&]() {return may_end.load();}));
      has_ended = true;
    });
  executor.add_node(node);
  std::thread spinner([&]() {executor.spin();});
  publisher->publish(Empty());
  ASSERT_TRUE(rig::wait_until([&]() {return has_begun.load();}));
  std::thread remover([&]() {
      executor.remove_node_and_wait(node->get_node_base_interface());
      EXPECT_TRUE(has_ended);
    });
  // It begins to wait after this.
  const std::atomic_bool & is_there = node->get_node_base_interface()->get_associated_with_executor_atomic();
  EXPECT_TRUE(rig::wait_until([&]() {return !is_there;}));
  may_end = true;
  remover.join();
  executor.cancel();
  spinner.join();
}

TEST_F(Changes, a_callback_may_remove_its_own_node_and_does_not_wait_for_itself)
{
  rospin::Executor executor;
  const auto node = rig::Topics("left").node;
  const auto publisher = node->create_publisher<Empty>("own", 10);
  int runs = 0;
  const auto subscription = node->create_subscription<Empty>(
    "own", 10, [&](Empty::ConstSharedPtr) {
      runs += 1;
      executor.remove_node_and_wait(node->get_node_base_interface());
    });
  executor.add_node(node);
  publisher->publish(Empty());
  publisher->publish(Empty());
  executor.spin_all(std::chrono::nanoseconds(0));
  EXPECT_EQ(runs, 1);
}

TEST_F(Changes, while_it_spins_lose_nothing_that_stays)
{
  const char * given = std::getenv("ROSPIN_TEST_PROGRAMS");
  const int programs = given != nullptr ? std::atoi(given) : 200;
  std::vector<std::unique_ptr<Part>> parts;
  for (const char * name : {"left", "right", "base"}) {
    parts.push_back(std::make_unique<Part>(name));
  }
  for (int seed = 0; seed < programs; seed += 1) {
    std::mt19937 random(seed);
    rospin::Executor executor(rclcpp::ExecutorOptions(), 1 + random() % 2);
    std::atomic<bool> is_over{false};
    std::atomic<bool> has_ended{false};
    std::thread spinner([&]() {
        while (!is_over) {
          executor.spin();
        }
        has_ended = true;
      });
    for (int step = 0; step < 60; step += 1) {
      change(*parts[random() % parts.size()], executor, random);
    }
    // All that is there now works.
    for (const auto & part : parts) {
      part->drop(random);
      part->listen(random);
      if (!part->is_added) {
        executor.add_node(part->node);
      }
      const int before = part->runs;
      part->publisher->publish(Empty());
      ASSERT_TRUE(rig::wait_until([&]() {return part->runs > before;})) << "seed " << seed;
    }
    is_over = true;
    // A cancel between two spins ends neither of them.
    ASSERT_TRUE(rig::wait_until([&]() {executor.cancel(); return has_ended.load();}));
    spinner.join();
    for (const auto & part : parts) {
      executor.remove_node(part->node);
      part->is_added = false;
      part->drop(random);
    }
  }
}
