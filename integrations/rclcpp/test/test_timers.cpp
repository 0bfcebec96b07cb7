// Timers on all clocks.
#include <chrono>
#include <memory>

#include "rcl/time.h"
#include "rig.hpp"

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

class Timers : public rig::Rclcpp {};

/// A clock in simulation, with a timer of 10 ms that counts its ticks.
class Simulation
{
public:
  explicit Simulation(rclcpp::Executor & executor)
  : executor_(executor)
  {
    EXPECT_EQ(rcl_enable_ros_time_override(clock->get_clock_handle()), RCL_RET_OK);
    set(0);
    timer = rclcpp::create_timer(node, clock, rclcpp::Duration(milliseconds(10)), [this]() {ticks += 1;});
    executor.add_node(node);
  }

  void set(int64_t ms)
  {
    std::lock_guard<std::mutex> guard(clock->get_clock_mutex());
    EXPECT_EQ(rcl_set_ros_time_override(clock->get_clock_handle(), RCL_MS_TO_NS(ms)), RCL_RET_OK);
  }

  /// Sets the time, and returns how often the timer ran because of that.
  int ticks_at(int64_t ms)
  {
    const int before = ticks;
    set(ms);
    executor_.spin_all(nanoseconds(0));
    return ticks - before;
  }

  rclcpp::Node::SharedPtr node = std::make_shared<rclcpp::Node>("simulated", rig::Topics::options());
  rclcpp::Clock::SharedPtr clock = std::make_shared<rclcpp::Clock>(RCL_ROS_TIME);
  rclcpp::TimerBase::SharedPtr timer;
  int ticks = 0;

private:
  rclcpp::Executor & executor_;
};

TEST_F(Timers, follow_simulated_time)
{
  rospin::Executor executor;
  Simulation simulation(executor);
  EXPECT_EQ(simulation.ticks_at(9), 0);
  EXPECT_EQ(simulation.ticks_at(10), 1);
  EXPECT_EQ(simulation.ticks_at(19), 0);
  EXPECT_EQ(simulation.ticks_at(20), 1);
}

TEST_F(Timers, of_simulated_time_that_have_missed_ticks_run_once)
{
  rospin::Executor executor;
  Simulation simulation(executor);
  EXPECT_EQ(simulation.ticks_at(55), 1);
  EXPECT_EQ(simulation.ticks_at(59), 0);
  EXPECT_EQ(simulation.ticks_at(60), 1);
}

TEST_F(Timers, of_simulated_time_wake_a_spin_that_waits)
{
  rospin::Executor executor;
  Simulation simulation(executor);
  std::atomic<bool> has_run{false};
  const auto second = rclcpp::create_timer(
    simulation.node, simulation.clock, rclcpp::Duration(milliseconds(10)), [&]() {has_run = true;});
  std::thread spinner([&]() {executor.spin();});
  ASSERT_TRUE(rig::wait_until([&]() {return executor.is_spinning();}));
  simulation.set(10);
  EXPECT_TRUE(rig::wait_until([&]() {return has_run.load();}));
  executor.cancel();
  spinner.join();
}

TEST_F(Timers, that_are_cancelled_run_after_a_reset)
{
  rospin::Executor executor;
  Simulation simulation(executor);
  simulation.timer->cancel();
  EXPECT_EQ(simulation.ticks_at(100), 0);
  simulation.timer->reset();
  EXPECT_EQ(simulation.ticks_at(109), 0);
  EXPECT_EQ(simulation.ticks_at(110), 1);
}

TEST_F(Timers, that_are_cancelled_when_they_are_due_do_not_run)
{
  rospin::Executor executor;
  Simulation simulation(executor);
  simulation.set(10);
  simulation.timer->cancel();
  EXPECT_EQ(simulation.ticks_at(11), 0);
}

TEST_F(Timers, that_are_cancelled_when_they_are_due_are_no_callbacks_of_a_spin_once)
{
  rig::Topics topics("planner");
  rospin::Executor executor;
  Simulation simulation(executor);
  const auto scan = topics.listen("scan");
  executor.add_node(topics.node);
  executor.spin_all(nanoseconds(0));
  simulation.set(10);
  simulation.timer->cancel();
  topics.publish();
  executor.spin_once(rig::LIMIT);
  EXPECT_EQ(topics.order, (rig::Order{"scan"}));
  executor.spin_once(nanoseconds(0));
  EXPECT_EQ(simulation.ticks, 0);
}

TEST_F(Timers, that_are_gone_do_not_run)
{
  rospin::Executor executor;
  Simulation simulation(executor);
  simulation.timer.reset();
  EXPECT_EQ(simulation.ticks_at(10), 0);
}

TEST_F(Timers, that_are_gone_may_have_a_group_that_gets_a_priority)
{
  rospin::Executor executor;
  Simulation simulation(executor);
  simulation.timer.reset();
  executor.set_priority(simulation.node->get_node_base_interface()->get_default_callback_group(), 5);
  EXPECT_EQ(simulation.ticks_at(10), 0);
}

TEST_F(Timers, of_simulated_time_keep_their_places_when_it_goes_on)
{
  rig::Topics topics("planner");
  rospin::Executor executor;
  Simulation simulation(executor);
  const auto scan = topics.listen("scan", nullptr, [&]() {EXPECT_EQ(simulation.ticks, 1);});
  executor.add_node(topics.node);
  executor.spin_all(nanoseconds(0));
  simulation.set(10);
  topics.publish();
  EXPECT_EQ(simulation.ticks_at(11), 1);
  EXPECT_EQ(topics.order, (rig::Order{"scan"}));
}

TEST_F(Timers, on_the_steady_clock_run_when_they_are_due)
{
  const auto node = std::make_shared<rclcpp::Node>("timed");
  int ticks = 0;
  const auto begin = std::chrono::steady_clock::now();
  const auto timer = node->create_wall_timer(milliseconds(1), [&]() {ticks += 1;});
  const auto late = node->create_wall_timer(hours(1), [&]() {ADD_FAILURE() << "an hour early";});
  rospin::Executor executor;
  executor.add_node(node);
  ASSERT_TRUE(rig::spin_until(executor, [&]() {return ticks == 5;}));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(5));
}

TEST_F(Timers, on_the_system_clock_run_when_they_are_due)
{
  const auto node = std::make_shared<rclcpp::Node>("timed");
  const auto clock = std::make_shared<rclcpp::Clock>(RCL_SYSTEM_TIME);
  int ticks = 0;
  const auto timer = rclcpp::create_timer(node, clock, rclcpp::Duration(milliseconds(1)), [&]() {ticks += 1;});
  rospin::Executor executor;
  executor.add_node(node);
  EXPECT_TRUE(rig::spin_until(executor, [&]() {return ticks == 5;}));
}

TEST_F(Timers, that_a_reset_makes_later_run_later)
{
  const auto node = std::make_shared<rclcpp::Node>("timed");
  int ticks = 0;
  const auto timer = node->create_wall_timer(hours(1), [&]() {ticks += 1;});
  rospin::Executor executor;
  executor.add_node(node);
  executor.spin_some();
  // To be due now and then in an hour again.
  int64_t before = 0;
  auto handle = std::const_pointer_cast<rcl_timer_t>(timer->get_timer_handle());
  ASSERT_EQ(rcl_timer_exchange_period(handle.get(), 0, &before), RCL_RET_OK);
  timer->reset();
  ASSERT_EQ(rcl_timer_exchange_period(handle.get(), before, &before), RCL_RET_OK);
  EXPECT_TRUE(rig::spin_until(executor, [&]() {return ticks == 1;}));
  executor.spin_some();
  EXPECT_EQ(ticks, 1);
}
