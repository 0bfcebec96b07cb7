// Random programs that add, remove and cancel while an executor spins. ROSPIN_TEST_PROGRAMS says how many.
#include <atomic>
#include <cstdlib>
#include <future>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "rig.hpp"
#include "test_msgs/srv/empty.hpp"

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

/// Tells when a node's callbacks start no more, without asking the executor. It has a thread for this.
class Probe
{
public:
  explicit Probe(const rclcpp::Node::SharedPtr & node)
  : other(rig::Topics("other").node),
    to_node_(node->create_publisher<Empty>("probe", 10)), to_other_(other->create_publisher<Empty>("other_probe", 10))
  {
    rclcpp::SubscriptionOptions options;
    options.callback_group = node->create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive);
    group_ = options.callback_group;
    const auto count = [this](Empty::ConstSharedPtr) {of_node_runs_ += 1;};
    of_node_ = node->create_subscription<Empty>("probe", 10, count, options);
    const auto count_other = [this](Empty::ConstSharedPtr) {other_runs_ += 1;};
    of_other_ = other->create_subscription<Empty>("other_probe", 10, count_other);
  }

  /// Returns some time after that: often enough for those who do not wait.
  void wait_until_removed()
  {
    int silent = 0;
    for (int round = 1; silent < 20; round += 1) {
      const int before = of_node_runs_;
      to_node_->publish(Empty());
      to_other_->publish(Empty());
      // It comes later, so it runs later.
      ASSERT_TRUE(rig::wait_until([&]() {return other_runs_ >= round;}));
      silent = of_node_runs_ == before ? silent + 1 : 0;
    }
  }

  /// A node that stays.
  const rclcpp::Node::SharedPtr other;

private:
  const rclcpp::Publisher<Empty>::SharedPtr to_node_;
  const rclcpp::Publisher<Empty>::SharedPtr to_other_;
  std::atomic<int> of_node_runs_{0};
  std::atomic<int> other_runs_{0};
  rclcpp::CallbackGroup::SharedPtr group_;
  rclcpp::SubscriptionBase::SharedPtr of_node_;
  rclcpp::SubscriptionBase::SharedPtr of_other_;
};

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
  Probe probe(node);
  executor.add_node(node);
  executor.add_node(probe.other);
  std::thread spinner([&]() {executor.spin();});
  publisher->publish(Empty());
  ASSERT_TRUE(rig::wait_until([&]() {return has_begun.load();}));
  std::atomic<bool> has_returned{false};
  std::thread remover([&]() {
      executor.remove_node_and_wait(node->get_node_base_interface());
      has_returned = true;
      EXPECT_TRUE(has_ended);
    });
  probe.wait_until_removed();
  EXPECT_FALSE(has_returned);
  may_end = true;
  remover.join();
  executor.cancel();
  spinner.join();
}

TEST_F(Changes, a_callback_that_has_let_its_group_go_is_waited_for)
{
  rospin::Executor executor(rclcpp::ExecutorOptions(), 2);
  const auto node = rig::Topics("left").node;
  const auto publisher = node->create_publisher<Empty>("long", 10);
  std::atomic<bool> has_begun{false};
  std::atomic<bool> may_end{false};
  std::atomic<bool> has_ended{false};
  rclcpp::SubscriptionOptions options;
  options.callback_group = node->create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive);
  rclcpp::SubscriptionBase::SharedPtr subscription = node->create_subscription<Empty>(
    "long", 10, [&](Empty::ConstSharedPtr) {
      subscription.reset();
      options.callback_group.reset();
      has_begun = true;
      EXPECT_TRUE(rig::wait_until([&]() {return may_end.load();}));
      has_ended = true;
    }, options);
  Probe probe(node);
  executor.add_node(node);
  executor.add_node(probe.other);
  std::thread spinner([&]() {executor.spin();});
  publisher->publish(Empty());
  ASSERT_TRUE(rig::wait_until([&]() {return has_begun.load();}));
  // A look for changes removes the callback of the group.
  const auto added = rig::Topics("added").node;
  executor.add_node(added);
  std::atomic<bool> has_returned{false};
  std::thread remover([&]() {
      executor.remove_node_and_wait(node->get_node_base_interface());
      has_returned = true;
      EXPECT_TRUE(has_ended);
    });
  probe.wait_until_removed();
  EXPECT_FALSE(has_returned);
  may_end = true;
  remover.join();
  executor.cancel();
  spinner.join();
}

TEST_F(Changes, a_callback_that_waits_for_a_response_gets_it_while_its_node_is_removed)
{
  rospin::Executor executor(rclcpp::ExecutorOptions(), 2);
  const auto node = rig::Topics("left").node;
  const auto server_node = rig::Topics("server").node;
  std::atomic<bool> may_answer{false};
  const auto server = server_node->create_service<test_msgs::srv::Empty>(
    "ask", [](test_msgs::srv::Empty::Request::SharedPtr, test_msgs::srv::Empty::Response::SharedPtr) {});
  const auto answers = node->create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive);
  const auto client = node->create_client<test_msgs::srv::Empty>("ask", rclcpp::ServicesQoS(), answers);
  ASSERT_TRUE(client->wait_for_service(rig::LIMIT));
  const auto publisher = node->create_publisher<Empty>("long", 10);
  std::atomic<bool> has_begun{false};
  std::atomic<bool> is_answered{false};
  const auto subscription = node->create_subscription<Empty>(
    "long", 10, [&](Empty::ConstSharedPtr) {
      has_begun = true;
      EXPECT_TRUE(rig::wait_until([&]() {return may_answer.load();}));
      auto response = client->async_send_request(std::make_shared<test_msgs::srv::Empty::Request>());
      is_answered = response.wait_for(rig::LIMIT) == std::future_status::ready;
    });
  Probe probe(node);
  executor.add_node(node);
  executor.add_node(server_node);
  executor.add_node(probe.other);
  std::thread spinner([&]() {executor.spin();});
  publisher->publish(Empty());
  ASSERT_TRUE(rig::wait_until([&]() {return has_begun.load();}));
  std::thread remover([&]() {executor.remove_node_and_wait(node->get_node_base_interface());});
  probe.wait_until_removed();
  may_answer = true;
  remover.join();
  EXPECT_TRUE(is_answered);
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
