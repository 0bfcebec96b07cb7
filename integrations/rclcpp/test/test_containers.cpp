// Containers of components, as programs of their own.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "composition_interfaces/srv/list_nodes.hpp"
#include "composition_interfaces/srv/load_node.hpp"
#include "composition_interfaces/srv/unload_node.hpp"
#include "rig.hpp"
#include "test_msgs/msg/basic_types.hpp"

using composition_interfaces::srv::ListNodes;
using composition_interfaces::srv::LoadNode;
using composition_interfaces::srv::UnloadNode;
using test_msgs::msg::BasicTypes;

namespace
{

using Environment = std::map<std::string, std::string>;

/// A container that runs as a process, and its services.
class Container
{
public:
  explicit Container(const std::vector<std::string> & arguments, const Environment & environment = {})
  : node(std::make_shared<rclcpp::Node>("tester"))
  {
    executor.add_node(node);
    pid_ = fork();
    if (pid_ == 0) {
      run(arguments, environment);
    }
  }

  ~Container()
  {
    if (pid_ > 0) {
      end();
    }
  }

  /// Ends the container as Ctrl-C does, and returns its exit status; that of a shell if a signal has killed it.
  int end()
  {
    kill(pid_, SIGINT);
    return wait();
  }

  /// Waits until the container ends by itself, and returns its exit status.
  int wait()
  {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  /// Calls a service of the container.
  template<typename Service>
  typename Service::Response::SharedPtr call(
    const std::string & name, const typename Service::Request::SharedPtr & request)
  {
    const auto client = node->create_client<Service>("/ComponentManager/_container/" + name);
    if (!client->wait_for_service(rig::LIMIT)) {
      throw std::runtime_error("the container has no service " + name);
    }
    auto response = client->async_send_request(request);
    if (executor.spin_until_future_complete(response, rig::LIMIT) != rclcpp::FutureReturnCode::SUCCESS) {
      throw std::runtime_error(name + " was not answered");
    }
    return response.get();
  }

  LoadNode::Response::SharedPtr load(
    const std::string & plugin, const LoadNode::Request::SharedPtr & request = std::make_shared<LoadNode::Request>())
  {
    request->package_name = "rospin_rclcpp_test";
    request->plugin_name = plugin;
    return call<LoadNode>("load_node", request);
  }

  UnloadNode::Response::SharedPtr unload(uint64_t id)
  {
    const auto request = std::make_shared<UnloadNode::Request>();
    request->unique_id = id;
    return call<UnloadNode>("unload_node", request);
  }

  std::vector<std::string> names()
  {
    return call<ListNodes>("list_nodes", std::make_shared<ListNodes::Request>())->full_node_names;
  }

  /// Sends a number to a component, and returns true once it gives that answer.
  bool answers(const std::string & numbers, const std::string & answers, int64_t number, int64_t expected)
  {
    bool has_answered = false;
    const auto qos = rclcpp::QoS(10).transient_local();
    const auto listener = node->create_subscription<BasicTypes>(
      answers, qos, [&](BasicTypes::ConstSharedPtr message) {
        has_answered |= message->int64_value == expected;
      });
    const auto publisher = node->create_publisher<BasicTypes>(numbers, qos);
    BasicTypes message;
    message.int64_value = number;
    publisher->publish(message);
    return rig::spin_until(executor, [&]() {return has_answered;});
  }

  const rclcpp::Node::SharedPtr node;
  rospin::Executor executor;

private:
  [[noreturn]] static void run(const std::vector<std::string> & arguments, const Environment & environment)
  {
    for (const auto & variable : environment) {
      setenv(variable.first.c_str(), variable.second.c_str(), 1);
    }
    const std::string path = std::string(CONTAINERS) + "/rospin_" + arguments[0];
    std::vector<char *> all = {const_cast<char *>(path.c_str())};
    for (size_t i = 1; i < arguments.size(); i += 1) {
      all.push_back(const_cast<char *>(arguments[i].c_str()));
    }
    all.push_back(nullptr);
    execv(path.c_str(), all.data());
    _exit(127);
  }

  pid_t pid_ = 0;
};

/// Returns a request for a node `/robot/double` that doubles `/robot/in` to `/robot/out`.
LoadNode::Request::SharedPtr doubling()
{
  const auto request = std::make_shared<LoadNode::Request>();
  request->node_name = "double";
  request->node_namespace = "/robot";
  request->remap_rules = {"numbers:=in", "answers:=out"};
  request->parameters = {rclcpp::Parameter("factor", 2).to_parameter_msg()};
  return request;
}

std::string path_of(const char * name)
{
  return ::testing::TempDir() + "/rospin_containers_" + std::to_string(getpid()) + "_" + name;
}

std::string contents_of(const std::string & path)
{
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

class Containers : public rig::Rclcpp, public ::testing::WithParamInterface<std::vector<std::string>> {};

TEST_P(Containers, load_components_with_names_parameters_and_remaps)
{
  Container container(GetParam());
  const auto loaded = container.load("rospin_test::Times", doubling());
  ASSERT_TRUE(loaded->success) << loaded->error_message;
  EXPECT_EQ(loaded->full_node_name, "/robot/double");
  const auto plain = container.load("rospin_test::Times");
  ASSERT_TRUE(plain->success) << plain->error_message;
  EXPECT_EQ(container.names(), (std::vector<std::string>{"/robot/double", "/times"}));
  EXPECT_TRUE(container.answers("/robot/in", "/robot/out", 21, 42));
  EXPECT_TRUE(container.answers("/numbers", "/answers", 7, 7));

  EXPECT_TRUE(container.unload(loaded->unique_id)->success);
  EXPECT_FALSE(container.unload(loaded->unique_id)->success);
  EXPECT_EQ(container.names(), (std::vector<std::string>{"/times"}));
  EXPECT_TRUE(container.answers("/numbers", "/answers", 8, 8));
  EXPECT_EQ(container.end(), 0);
}

TEST_P(Containers, say_what_cannot_be_loaded_and_go_on)
{
  Container container(GetParam());
  const auto unknown = container.load("rospin_test::Tmes");
  EXPECT_FALSE(unknown->success);
  EXPECT_NE(unknown->error_message.find("plugin name"), std::string::npos) << unknown->error_message;
  const auto broken = container.load("rospin_test::Broken");
  EXPECT_FALSE(broken->success);
  EXPECT_NE(broken->error_message.find("no lens"), std::string::npos) << broken->error_message;
  const auto odd = std::make_shared<LoadNode::Request>();
  odd->extra_arguments = {rclcpp::Parameter("use_magic", true).to_parameter_msg()};
  EXPECT_FALSE(container.load("rospin_test::Times", odd)->success);
  EXPECT_TRUE(container.names().empty());
  EXPECT_TRUE(container.load("rospin_test::Times")->success);
  EXPECT_EQ(container.end(), 0);
}

TEST_P(Containers, unload_components_whose_callbacks_run)
{
  Container container(GetParam());
  for (int round = 0; round < 20; round += 1) {
    const auto first = container.load("rospin_test::Busy");
    const auto second = container.load("rospin_test::Busy", [] {
          const auto request = std::make_shared<LoadNode::Request>();
          request->node_name = "second";
          return request;
        }());
    ASSERT_TRUE(first->success && second->success);
    ASSERT_TRUE(container.unload(first->unique_id)->success);
    ASSERT_TRUE(container.unload(second->unique_id)->success);
  }
  EXPECT_TRUE(container.load("rospin_test::Busy")->success);
  EXPECT_EQ(container.end(), 0);
}

TEST_P(Containers, end_with_an_error_when_a_callback_fails)
{
  Container container(GetParam());
  ASSERT_TRUE(container.load("rospin_test::Times")->success);
  const auto publisher = container.node->create_publisher<BasicTypes>("/numbers", rclcpp::QoS(10).transient_local());
  publisher->publish(BasicTypes());
  EXPECT_EQ(container.wait(), 1);
}

TEST_P(Containers, end_with_an_error_when_a_callback_throws_a_number)
{
  Container container(GetParam());
  ASSERT_TRUE(container.load("rospin_test::Times")->success);
  const auto publisher = container.node->create_publisher<BasicTypes>("/numbers", rclcpp::QoS(10).transient_local());
  BasicTypes message;
  message.int64_value = -1;
  publisher->publish(message);
  EXPECT_EQ(container.wait(), 1);
}

TEST_P(Containers, unload_components_whose_callbacks_run_where_a_file_has_moved_them)
{
  const std::string path = path_of("moved.toml");
  // The second one keeps that executor spinning.
  std::ofstream(path) << "[[executor]]\nname = \"elsewhere\"\nthreads = 2\n\n"
    "[[group]]\nnode = \"busy\"\nname = \"group0\"\nexecutor = \"elsewhere\"\n\n"
    "[[group]]\nnode = \"second\"\nname = \"group0\"\nexecutor = \"elsewhere\"\n";
  Container container(GetParam(), {{"ROSPIN_DEPLOYMENT", path}});
  const auto second = std::make_shared<LoadNode::Request>();
  second->node_name = "second";
  ASSERT_TRUE(container.load("rospin_test::Busy", second)->success);
  for (int round = 0; round < 10; round += 1) {
    const auto loaded = container.load("rospin_test::Busy");
    ASSERT_TRUE(loaded->success) << loaded->error_message;
    ASSERT_TRUE(container.unload(loaded->unique_id)->success);
  }
  EXPECT_EQ(container.end(), 0);
  std::remove(path.c_str());
}

TEST_P(Containers, are_deployed_and_recorded)
{
  const Environment files = {
    {"ROSPIN_DEPLOYMENT", path_of("deployment.toml")}, {"ROSPIN_DEPLOYMENT_TEMPLATE", path_of("template.toml")},
    {"ROSPIN_TRACE", path_of("trace.mcap")}};
  // Nothing of that is there at the beginning.
  std::ofstream(files.at("ROSPIN_DEPLOYMENT")) <<
    "[[executor]]\nname = \"urgent\"\n\n[[group]]\nnode = \"double\"\nname = \"double\"\nexecutor = \"urgent\"\n\n"
    "[[callback]]\nname = \"double/in\"\npriority = 9\n";
  Container container(GetParam(), files);
  const auto loaded = container.load("rospin_test::Times", doubling());
  ASSERT_TRUE(loaded->success) << loaded->error_message;
  EXPECT_TRUE(container.answers("/robot/in", "/robot/out", 21, 42));
  const std::string written = contents_of(files.at("ROSPIN_DEPLOYMENT_TEMPLATE"));
  EXPECT_NE(written.find("double/in"), std::string::npos) << written;
  EXPECT_EQ(container.end(), 0);
  // The recording names the executor that ran the callback.
  const std::string trace = contents_of(files.at("ROSPIN_TRACE"));
  EXPECT_NE(trace.find("urgent"), std::string::npos);
  for (const auto & file : files) {
    std::remove(file.second.c_str());
  }
}

TEST_P(Containers, do_not_begin_with_an_invalid_deployment_file)
{
  const std::string path = path_of("invalid.toml");
  std::ofstream(path) << "[[callback]]\nnme = \"double/in\"\n";
  Container container(GetParam(), {{"ROSPIN_DEPLOYMENT", path}});
  EXPECT_EQ(container.wait(), 1);
  std::remove(path.c_str());
}

INSTANTIATE_TEST_SUITE_P(
  All, Containers,
  ::testing::Values(
    std::vector<std::string>{"component_container"}, std::vector<std::string>{"component_container_mt"},
    std::vector<std::string>{"component_container_mt", "--ros-args", "-p", "thread_num:=1"},
    std::vector<std::string>{"component_container_isolated"},
    std::vector<std::string>{"component_container_isolated", "--use_multi_threaded_executor"}));

int main(int argc, char ** argv)
{
  ::testing::InitGoogleTest(&argc, argv);
  const char * known = std::getenv("AMENT_PREFIX_PATH");
  const std::string path = std::string(COMPONENTS) + ":" + (known != nullptr ? known : "");
  setenv("AMENT_PREFIX_PATH", path.c_str(), 1);
  return RUN_ALL_TESTS();
}
