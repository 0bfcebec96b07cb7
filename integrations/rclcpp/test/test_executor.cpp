// The promises of rclcpp's executors, kept by rospin's.
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>

#include "rclcpp_action/rclcpp_action.hpp"
#include "rig.hpp"
#include "test_msgs/action/fibonacci.hpp"
#include "test_msgs/srv/empty.hpp"

using rig::Empty;
using rig::Order;
using rig::Topics;
using std::chrono::nanoseconds;

class Executor : public rig::Rclcpp {};

TEST_F(Executor, an_exception_leaves_the_spin_and_the_next_spin_goes_on)
{
  Topics topics("planner");
  rospin::Executor executor;
  const auto bad = topics.listen("bad", nullptr, []() {throw std::domain_error("no map");});
  const auto good = topics.listen("good");
  executor.add_node(topics.node);
  topics.publish();
  EXPECT_THROW(executor.spin(), std::domain_error);
  EXPECT_FALSE(executor.is_spinning());
  EXPECT_EQ(topics.order, (Order{"bad"}));
  executor.spin_all(nanoseconds(0));
  EXPECT_EQ(topics.order, (Order{"bad", "good"}));
}

TEST_F(Executor, a_cancel_in_a_callback_ends_the_spin_before_the_next_one)
{
  Topics topics("planner");
  rospin::Executor executor;
  const auto first = topics.listen("first", nullptr, [&]() {executor.cancel();});
  const auto second = topics.listen("second");
  executor.add_node(topics.node);
  topics.publish();
  executor.spin();
  EXPECT_EQ(topics.order, (Order{"first"}));
  executor.spin_some();
  EXPECT_EQ(topics.order, (Order{"first", "second"}));
}

TEST_F(Executor, a_cancel_that_comes_too_late_ends_no_later_spin)
{
  Topics topics("planner");
  rospin::Executor executor;
  const auto only = topics.listen("only", nullptr, [&]() {executor.cancel();});
  executor.add_node(topics.node);
  executor.cancel();
  topics.publish();
  executor.spin();
  EXPECT_EQ(topics.order, (Order{"only"}));
}

TEST_F(Executor, a_node_that_was_removed_does_not_run_and_may_be_added_elsewhere)
{
  Topics topics("planner");
  const auto only = topics.listen("only");
  rospin::Executor first;
  rospin::Executor second;
  first.add_node(topics.node);
  topics.publish();
  EXPECT_THROW(second.add_node(topics.node), std::runtime_error);
  first.remove_node(topics.node);
  first.spin_all(nanoseconds(0));
  EXPECT_EQ(topics.order, Order{});
  second.add_node(topics.node);
  topics.publish();
  ASSERT_TRUE(rig::spin_until(second, [&]() {return !topics.order.empty();}));
}

TEST_F(Executor, a_subscription_that_is_gone_is_not_kept)
{
  Topics topics("planner");
  rospin::Executor executor;
  auto only = topics.listen("only");
  executor.add_node(topics.node);
  executor.spin_all(nanoseconds(0));
  EXPECT_EQ(only.use_count(), 1);
  topics.publish();
  only.reset();
  executor.spin_all(nanoseconds(0));
  EXPECT_EQ(topics.order, Order{});
}

TEST_F(Executor, what_is_created_while_it_spins_runs)
{
  Topics topics("planner");
  rospin::Executor executor;
  rclcpp::Subscription<Empty>::SharedPtr second;
  const auto first = topics.listen(
    "first", nullptr, [&]() {
      second = topics.listen("second", nullptr, [&]() {executor.cancel();});
      topics.publishers.back()->publish(Empty());
    });
  executor.add_node(topics.node);
  topics.publish();
  executor.spin();
  EXPECT_EQ(topics.order, (Order{"first", "second"}));
}

TEST_F(Executor, what_another_thread_creates_while_it_waits_runs)
{
  Topics topics("planner");
  rospin::Executor executor;
  executor.add_node(topics.node);
  std::thread spinner([&]() {executor.spin();});
  ASSERT_TRUE(rig::wait_until([&]() {return executor.is_spinning();}));
  std::atomic<bool> has_run{false};
  const auto only = topics.listen("only", nullptr, [&]() {has_run = true;});
  topics.publish();
  EXPECT_TRUE(rig::wait_until([&]() {return has_run.load();}));
  executor.cancel();
  spinner.join();
}

TEST_F(Executor, shutdown_ends_the_spin)
{
  Topics topics("planner");
  rospin::Executor executor;
  executor.add_node(topics.node);
  std::thread spinner([&]() {executor.spin();});
  ASSERT_TRUE(rig::wait_until([&]() {return executor.is_spinning();}));
  rclcpp::shutdown();
  spinner.join();
  EXPECT_NO_THROW(executor.spin());
}

TEST_F(Executor, a_shutdown_ends_the_spin_although_something_is_added_at_once)
{
  Topics topics("planner");
  const auto other = std::make_shared<rclcpp::Node>("other");
  rospin::Executor executor;
  const auto first = topics.listen(
    "first", nullptr, [&]() {
      rclcpp::shutdown();
      executor.add_node(other);
      // Should the spin go on, this is after a second callback.
      topics.publish();
      if (topics.order.size() > 1) {
        executor.cancel();
      }
    });
  executor.add_node(topics.node);
  topics.publish();
  executor.spin();
  EXPECT_EQ(topics.order, (Order{"first"}));
}

TEST_F(Executor, a_spin_once_runs_one_callback_although_that_creates_another_one)
{
  Topics topics("planner");
  rospin::Executor executor;
  rclcpp::SubscriptionBase::SharedPtr created;
  const auto first = topics.listen("first", nullptr, [&]() {created = topics.listen("created");});
  const auto second = topics.listen("second", nullptr, [&]() {created.reset();});
  executor.add_node(topics.node);
  topics.publish();
  executor.spin_once(rig::LIMIT);
  EXPECT_EQ(topics.order, (Order{"first"}));
  executor.spin_once(rig::LIMIT);
  EXPECT_EQ(topics.order, (Order{"first", "second"}));
}

TEST_F(Executor, a_spin_once_that_waits_runs_what_another_thread_creates)
{
  Topics topics("planner");
  rospin::Executor executor;
  executor.add_node(topics.node);
  std::thread spinner([&]() {executor.spin_once(rig::LIMIT);});
  ASSERT_TRUE(rig::wait_until([&]() {return executor.is_spinning();}));
  const auto only = topics.listen("only");
  topics.publish();
  spinner.join();
  EXPECT_EQ(topics.order, (Order{"only"}));
}

TEST_F(Executor, a_spin_some_runs_what_was_ready_although_callbacks_create_others)
{
  Topics topics("planner");
  rospin::Executor executor;
  std::vector<rclcpp::SubscriptionBase::SharedPtr> created;
  const auto again = [&]() {
      created.push_back(topics.listen("created"));
      if (topics.order.size() < 20) {
        topics.publishers[0]->publish(Empty());
      }
    };
  const auto first = topics.listen("first", nullptr, again);
  const auto second = topics.listen("second");
  executor.add_node(topics.node);
  topics.publish();
  executor.spin_some();
  EXPECT_EQ(topics.order, (Order{"first", "second"}));
}

TEST_F(Executor, a_spin_may_be_as_long_as_any_time)
{
  Topics topics("planner");
  rospin::Executor executor;
  const auto only = topics.listen("only");
  executor.add_node(topics.node);
  topics.publish();
  executor.spin_once(nanoseconds::max());
  EXPECT_EQ(topics.order, (Order{"only"}));
  topics.publish();
  executor.spin_all(nanoseconds::max());
  EXPECT_EQ(topics.order, (Order{"only", "only"}));
  topics.publish();
  executor.spin_some(nanoseconds(-1));
  EXPECT_EQ(topics.order, (Order{"only", "only"}));
}

TEST_F(Executor, a_callback_on_the_spinning_thread_may_wait_for_a_client_that_it_creates)
{
  using Service = test_msgs::srv::Empty;
  Topics topics("planner");
  const auto server = std::make_shared<rclcpp::Node>("server");
  const auto service = server->create_service<Service>(
    "reset", [](Service::Request::SharedPtr, Service::Response::SharedPtr) {});
  rospin::Executor executor(rclcpp::ExecutorOptions(), 2);
  const auto group = topics.node->create_callback_group(rclcpp::CallbackGroupType::Reentrant);
  const auto spinner = std::this_thread::get_id();
  std::atomic<bool> is_asking{false};
  bool is_answered = false;
  const auto ask = [&]() {
      if (std::this_thread::get_id() != spinner) {
        // The spinning thread is the only one that is left.
        topics.publish();
        rig::wait_until([&]() {return is_asking.load();});
        return;
      }
      is_asking = true;
      const auto client = topics.node->create_client<Service>("reset", rclcpp::ServicesQoS(), group);
      const auto response = client->async_send_request(std::make_shared<Service::Request>());
      is_answered = response.wait_for(rig::LIMIT) == std::future_status::ready;
      executor.cancel();
    };
  const auto asks = topics.listen("ask", group, ask);
  executor.add_node(topics.node);
  executor.add_node(server);
  const auto early = topics.node->create_client<Service>("reset");
  ASSERT_TRUE(early->wait_for_service(rig::LIMIT));
  topics.publish();
  executor.spin();
  EXPECT_TRUE(is_answered);
}

/// Runs two callbacks of a group on two threads. Each waits for the other, for a while if `may_meet` is false.
static bool callbacks_meet(rclcpp::CallbackGroupType type)
{
  Topics topics("planner");
  rospin::Executor executor(rclcpp::ExecutorOptions(), 2);
  const auto group = topics.node->create_callback_group(type);
  std::atomic<int> running{0};
  std::atomic<int> ended{0};
  std::atomic<bool> have_met{false};
  const bool may_meet = type == rclcpp::CallbackGroupType::Reentrant;
  const auto meet = [&]() {
      running += 1;
      if (may_meet) {
        rig::wait_until([&]() {return running == 2 || have_met;});
      }
      have_met = have_met || running == 2;
      running -= 1;
      ended += 1;
      if (ended == 2) {
        executor.cancel();
      }
    };
  rclcpp::SubscriptionOptions options;
  options.callback_group = group;
  const auto listen = [&](const char * topic) {
      return topics.node->create_subscription<Empty>(topic, 10, [meet](Empty::ConstSharedPtr) {meet();}, options);
    };
  const auto a = listen("a");
  const auto b = listen("b");
  executor.add_node(topics.node);
  topics.node->create_publisher<Empty>("a", 10)->publish(Empty());
  topics.node->create_publisher<Empty>("b", 10)->publish(Empty());
  executor.spin();
  return have_met;
}

TEST_F(Executor, callbacks_of_a_reentrant_group_run_at_once)
{
  EXPECT_TRUE(callbacks_meet(rclcpp::CallbackGroupType::Reentrant));
}

TEST_F(Executor, callbacks_of_a_mutually_exclusive_group_run_one_after_the_other)
{
  EXPECT_FALSE(callbacks_meet(rclcpp::CallbackGroupType::MutuallyExclusive));
}

TEST_F(Executor, serialized_messages_come_over_the_network)
{
  const auto node = std::make_shared<rclcpp::Node>("listener");
  size_t bytes = 0;
  const auto subscription = node->create_subscription<Empty>(
    "bytes", 10, [&](std::shared_ptr<rclcpp::SerializedMessage> message) {bytes = message->size();});
  const auto publisher = node->create_publisher<Empty>("bytes", 10);
  rospin::Executor executor;
  executor.add_node(node);
  ASSERT_TRUE(rig::wait_until([&]() {return publisher->get_subscription_count() > 0;}));
  publisher->publish(Empty());
  EXPECT_TRUE(rig::spin_until(executor, [&]() {return bytes > 0;}));
}

TEST_F(Executor, a_request_is_answered)
{
  using Service = test_msgs::srv::Empty;
  const auto node = std::make_shared<rclcpp::Node>("server");
  const auto service = node->create_service<Service>(
    "reset", [](Service::Request::SharedPtr, Service::Response::SharedPtr) {});
  const auto client = node->create_client<Service>("reset");
  rospin::Executor executor;
  executor.add_node(node);
  ASSERT_TRUE(client->wait_for_service(rig::LIMIT));
  const auto response = client->async_send_request(std::make_shared<Service::Request>());
  EXPECT_EQ(executor.spin_until_future_complete(response, rig::LIMIT), rclcpp::FutureReturnCode::SUCCESS);
}

TEST_F(Executor, a_goal_is_reached)
{
  using Fibonacci = test_msgs::action::Fibonacci;
  using Goal = rclcpp_action::ServerGoalHandle<Fibonacci>;
  const auto node = std::make_shared<rclcpp::Node>("server");
  const auto server = rclcpp_action::create_server<Fibonacci>(
    node, "fibonacci",
    [](const rclcpp_action::GoalUUID &, Fibonacci::Goal::ConstSharedPtr) {
      return rclcpp_action::GoalResponse::ACCEPT_AND_EXECUTE;
    },
    [](std::shared_ptr<Goal>) {return rclcpp_action::CancelResponse::REJECT;},
    [](std::shared_ptr<Goal> goal) {
      auto result = std::make_shared<Fibonacci::Result>();
      result->sequence = {0, 1, 1};
      goal->succeed(result);
    });
  const auto client = rclcpp_action::create_client<Fibonacci>(node, "fibonacci");
  rospin::Executor executor;
  executor.add_node(node);
  ASSERT_TRUE(client->wait_for_action_server(rig::LIMIT));
  auto goal = client->async_send_goal(Fibonacci::Goal());
  ASSERT_EQ(executor.spin_until_future_complete(goal, rig::LIMIT), rclcpp::FutureReturnCode::SUCCESS);
  auto result = client->async_get_result(goal.get());
  ASSERT_EQ(executor.spin_until_future_complete(result, rig::LIMIT), rclcpp::FutureReturnCode::SUCCESS);
  EXPECT_EQ(result.get().result->sequence.size(), 3u);
}

/// A waitable that cannot tell when it is ready.
class Mute : public rclcpp::Waitable
{
public:
  void add_to_wait_set(rcl_wait_set_t &) override {}
  bool is_ready(const rcl_wait_set_t &) override {return false;}
  std::shared_ptr<void> take_data() override {return nullptr;}
  std::shared_ptr<void> take_data_by_entity_id(size_t) override {return nullptr;}
  void execute(const std::shared_ptr<void> &) override {}
  void set_on_ready_callback(std::function<void(size_t, int)>) override {throw std::runtime_error("no events");}
  void clear_on_ready_callback() override {}
};

/// A waitable that is ready whenever somebody rings.
class Bell : public Mute
{
public:
  std::shared_ptr<void> take_data_by_entity_id(size_t) override {return nullptr;}
  void execute(const std::shared_ptr<void> &) override {runs += 1;}
  void set_on_ready_callback(std::function<void(size_t, int)> callback) override {ring = callback;}

  std::function<void(size_t, int)> ring;
  int runs = 0;
};

TEST_F(Executor, what_waits_runs_although_the_node_is_removed_and_added_again)
{
  using Service = test_msgs::srv::Empty;
  Topics topics("planner");
  const auto bell = std::make_shared<Bell>();
  topics.node->get_node_waitables_interface()->add_waitable(bell, nullptr);
  const auto only = topics.listen("only");
  int requests = 0;
  const auto service = topics.node->create_service<Service>(
    "reset", [&](Service::Request::SharedPtr, Service::Response::SharedPtr) {requests += 1;});
  int samples = 0;
  rclcpp::SubscriptionOptions options;
  options.use_intra_process_comm = rclcpp::IntraProcessSetting::Disable;
  const auto listener = topics.node->create_subscription<Empty>(
    "only", 10, [&](Empty::ConstSharedPtr) {samples += 1;}, options);
  const auto caller = std::make_shared<rclcpp::Node>("caller");
  const auto client = caller->create_client<Service>("reset");
  ASSERT_TRUE(client->wait_for_service(rig::LIMIT));
  rospin::Executor first;
  first.add_node(topics.node);
  first.spin_all(nanoseconds(0));
  for (int i = 0; i < 3; i += 1) {
    topics.publish();
    client->async_send_request(std::make_shared<Service::Request>());
  }
  bell->ring(3, 0);
  ASSERT_TRUE(rig::spin_until(first, [&]() {return samples == 1;}));
  first.remove_node(topics.node);
  rospin::Executor second;
  second.add_node(topics.node);
  ASSERT_TRUE(rig::spin_until(second, [&]() {
      return bell->runs == 3 && topics.order.size() == 3 && requests == 3 && samples == 3;
    }));
}

TEST_F(Executor, a_waitable_without_events_keeps_nothing_else_from_running)
{
  Topics topics("planner");
  const auto mute = std::make_shared<Mute>();
  topics.node->get_node_waitables_interface()->add_waitable(mute, nullptr);
  const auto only = topics.listen("only");
  rospin::Executor executor;
  executor.add_node(topics.node);
  topics.publish();
  executor.spin_all(nanoseconds(0));
  EXPECT_EQ(topics.order, (Order{"only"}));
}
