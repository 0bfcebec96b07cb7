// Deployment files and traces, as the environment asks for them.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "rig.hpp"

using rig::Order;
using rig::Topics;
using std::chrono::hours;
using std::chrono::nanoseconds;

namespace
{

std::string file(const char * name)
{
  return ::testing::TempDir() + "/rospin_rclcpp_" + std::to_string(getpid()) + "_" + name;
}

std::string contents_of(const std::string & path)
{
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Sets a variable of the environment to the path of a file, and takes back both.
class Variable
{
public:
  Variable(const char * variable, const char * name, const std::string & contents = "")
  : variable(variable), path(file(name))
  {
    if (!contents.empty()) {
      std::ofstream(path) << contents;
    }
    setenv(variable, path.c_str(), 1);
  }

  ~Variable()
  {
    unsetenv(variable);
    std::remove(path.c_str());
  }

  const char * const variable;
  const std::string path;
};

}  // namespace

class Deployment : public rig::Rclcpp {};

TEST_F(Deployment, decides_the_order_and_takes_precedence)
{
  const Variable variable(
    "ROSPIN_DEPLOYMENT", "deployment.toml",
    "[[callback]]\nname = \"planner/scan\"\npriority = 9\n\n[[callback]]\nname = \"planner/map\"\npriority = 3\n");
  Topics topics("planner");
  const auto stop = topics.listen("stop");
  const auto map = topics.listen("map");
  const auto scan = topics.listen("scan");
  rospin::Executor executor;
  executor.set_priority(map, 20);
  executor.set_priority(stop, 5);
  executor.add_node(topics.node);
  topics.publish();
  executor.spin_all(nanoseconds(0));
  EXPECT_EQ(topics.order, (Order{"scan", "stop", "map"}));
}

TEST_F(Deployment, that_names_what_is_not_there_is_an_error)
{
  const Variable variable(
    "ROSPIN_DEPLOYMENT", "wrong.toml", "[[callback]]\nname = \"planner/scam\"\npriority = 9\n");
  Topics topics("planner");
  const auto scan = topics.listen("scan");
  rospin::Executor executor;
  executor.add_node(topics.node);
  try {
    executor.spin_some();
    ADD_FAILURE() << "there is no `planner/scam`";
  } catch (const std::runtime_error & error) {
    EXPECT_NE(std::string(error.what()).find("planner/scam"), std::string::npos) << error.what();
  }
}

TEST_F(Deployment, template_names_groups_and_callbacks)
{
  const Variable variable("ROSPIN_DEPLOYMENT_TEMPLATE", "template.toml");
  const auto node = std::make_shared<rclcpp::Node>("planner", "/robot");
  const auto group = node->create_callback_group(rclcpp::CallbackGroupType::Reentrant);
  const auto first = node->create_wall_timer(hours(1), []() {});
  const auto second = node->create_wall_timer(hours(1), []() {}, group);
  const auto scan = node->create_subscription<rig::Empty>("~/scan", 10, [](rig::Empty::ConstSharedPtr) {});
  rospin::Executor executor;
  executor.add_node(node);
  executor.spin_some();
  const std::string written = contents_of(variable.path);
  const char * const names[] = {"planner/timer0", "planner/timer1", "planner/scan", "planner/set_parameters", "group0"};
  for (const char * name : names) {
    EXPECT_NE(written.find(name), std::string::npos) << name << " is not in\n" << written;
  }
}

TEST_F(Deployment, groups_keep_their_names_when_others_end)
{
  const Variable variable(
    "ROSPIN_DEPLOYMENT", "groups.toml",
    "[[executor]]\nname = \"control\"\n\n[[group]]\nnode = \"planner\"\nname = \"group1\"\nexecutor = \"control\"\n");
  Topics topics("planner");
  rospin::Executor executor;
  rospin::ExecutorOptions options;
  options.name = "control";
  rospin::Executor control(options);
  auto first = topics.node->create_callback_group(rclcpp::CallbackGroupType::Reentrant);
  const auto second = topics.node->create_callback_group(rclcpp::CallbackGroupType::Reentrant);
  const auto moved = topics.listen("moved", second);
  executor.add_node(topics.node);
  first.reset();
  // It must not be another `group1`.
  const auto third = topics.node->create_callback_group(rclcpp::CallbackGroupType::Reentrant);
  const auto stays = topics.listen("stays", third);
  topics.publish();
  executor.spin_all(nanoseconds(0));
  EXPECT_EQ(topics.order, (Order{"stays"}));
  control.spin_all(nanoseconds(0));
  EXPECT_EQ(topics.order, (Order{"stays", "moved"}));
}

TEST_F(Deployment, an_exception_leaves_the_spin_of_the_executor_that_a_group_was_moved_to)
{
  const Variable variable(
    "ROSPIN_DEPLOYMENT", "failing.toml",
    "[[executor]]\nname = \"control\"\n\n[[group]]\nnode = \"planner\"\nname = \"planner\"\nexecutor = \"control\"\n");
  Topics topics("planner");
  rospin::Executor executor;
  rospin::ExecutorOptions options;
  options.name = "control";
  rospin::Executor control(options);
  const auto bad = topics.listen("bad", nullptr, []() {throw std::domain_error("no map");});
  executor.add_node(topics.node);
  topics.publish();
  EXPECT_THROW(control.spin(), std::domain_error);
  EXPECT_NO_THROW(executor.spin_some());
}

TEST_F(Deployment, an_executor_of_a_deployment_runs_along)
{
  const Variable variable(
    "ROSPIN_DEPLOYMENT", "moved.toml",
    "[[executor]]\nname = \"control\"\n\n[[group]]\nnode = \"planner\"\nname = \"planner\"\nexecutor = \"control\"\n");
  Topics topics("planner");
  rospin::Executor executor;
  const auto only = topics.listen("only", nullptr, [&]() {executor.cancel();});
  executor.add_node(topics.node);
  topics.publish();
  executor.spin();
  EXPECT_EQ(topics.order, (Order{"only"}));
}

int main(int argc, char ** argv)
{
  ::testing::InitGoogleTest(&argc, argv);
  // The trace is of the whole process, and begins with its first executor.
  const std::string trace = file("trace.mcap");
  setenv("ROSPIN_TRACE", trace.c_str(), 1);
  const int result = RUN_ALL_TESTS();
  const bool has_trace = contents_of(trace).size() > 8;
  std::remove(trace.c_str());
  if (!has_trace) {
    std::fprintf(stderr, "there is no trace in %s\n", trace.c_str());
  }
  return has_trace ? result : 1;
}
