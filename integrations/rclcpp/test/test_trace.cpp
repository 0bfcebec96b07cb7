// A recording knows which callback has published what another one took. The `rospin` command reads it: ROSPIN_COMMAND
// names it, and without that the test is skipped.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "rig.hpp"
#include "rmw/rmw.h"

using rig::Empty;

namespace
{

/// True while this thread is inside of the middleware's publish.
thread_local bool is_publishing = false;

/// Returns the middleware's function of that name, which one of this program stands before.
template<typename Function>
Function * next_function(const char * name, Function *)
{
  return reinterpret_cast<Function *>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" rmw_ret_t rmw_publish(
  const rmw_publisher_t * publisher, const void * message, rmw_publisher_allocation_t * allocation)
{
  static const auto next = next_function("rmw_publish", &rmw_publish);
  is_publishing = true;
  const rmw_ret_t result = next(publisher, message, allocation);
  is_publishing = false;
  return result;
}

/// Ends the program where Zenoh's would wait for itself: it has a lock while it publishes, and takes it here, too.
extern "C" rmw_ret_t rmw_get_gid_for_publisher(const rmw_publisher_t * publisher, rmw_gid_t * gid)
{
  static const auto next = next_function("rmw_get_gid_for_publisher", &rmw_get_gid_for_publisher);
  if (is_publishing) {
    fprintf(stderr, "the middleware was asked for an id while it publishes\n");
    _exit(3);
  }
  return next(publisher, gid);
}

namespace
{

std::string program;

/// A node whose timer publishes "first", and whose subscriptions pass that on to "second" and "third".
class Relay
{
public:
  Relay(const std::string & name, bool in_process)
  : node(std::make_shared<rclcpp::Node>(name, rclcpp::NodeOptions().use_intra_process_comms(in_process)))
  {
    const auto first = node->create_publisher<Empty>("~/first", 10);
    const auto second = node->create_publisher<Empty>("~/second", 10);
    const auto third = node->create_publisher<Empty>("~/third", 10);
    timer = node->create_wall_timer(std::chrono::milliseconds(1), [first]() {first->publish(Empty());});
    const auto pass = [](const rclcpp::Publisher<Empty>::SharedPtr & to) {
        return [to](Empty::ConstSharedPtr) {to->publish(Empty());};
      };
    subscriptions.push_back(node->create_subscription<Empty>("~/first", 10, pass(second)));
    subscriptions.push_back(node->create_subscription<Empty>("~/second", 10, pass(third)));
    subscriptions.push_back(
      node->create_subscription<Empty>("~/third", 10, [this](Empty::ConstSharedPtr) {arrived += 1;}));
  }

  const rclcpp::Node::SharedPtr node;
  rclcpp::TimerBase::SharedPtr timer;
  std::vector<rclcpp::SubscriptionBase::SharedPtr> subscriptions;
  int arrived = 0;
};

/// A node that publishes "old" in one timer, and listens to it too late, in another one. The executor has one thread.
class Late
{
public:
  Late()
  : node(std::make_shared<rclcpp::Node>("late", rclcpp::NodeOptions().use_intra_process_comms(true)))
  {
    const auto qos = rclcpp::QoS(10).transient_local();
    const auto publisher = node->create_publisher<Empty>("~/old", qos);
    publish = node->create_wall_timer(
      std::chrono::milliseconds(1), [this, publisher]() {
        if (!is_published) {
          publisher->publish(Empty());
          is_published = true;
        }
      });
    listen = node->create_wall_timer(
      std::chrono::milliseconds(1), [this, qos]() {
        if (is_published && !subscription) {
          subscription = node->create_subscription<Empty>("~/old", qos, [this](Empty::ConstSharedPtr) {arrived += 1;});
        }
      });
  }

  const rclcpp::Node::SharedPtr node;
  rclcpp::TimerBase::SharedPtr publish;
  rclcpp::TimerBase::SharedPtr listen;
  rclcpp::SubscriptionBase::SharedPtr subscription;
  bool is_published = false;
  int arrived = 0;
};

/// Returns what the command prints, which must succeed.
std::string output_of(const std::string & command)
{
  std::string output;
  FILE * stream = popen(command.c_str(), "r");
  char part[4096];
  while (const size_t count = fread(part, 1, sizeof(part), stream)) {
    output.append(part, count);
  }
  EXPECT_EQ(pclose(stream), 0) << command << "\n" << output;
  return output;
}

}  // namespace

/// Records both kinds of relays until all has arrived often. The recording is complete when the program ends.
static int record()
{
  rclcpp::init(0, nullptr);
  {
    rospin::Executor executor;
    Relay through("through", false);
    Relay within("within", true);
    executor.add_node(through.node);
    executor.add_node(within.node);
    std::unique_ptr<Late> late;
    try {
      late = std::make_unique<Late>();
      executor.add_node(late->node);
    } catch (const std::invalid_argument &) {
      // Earlier than Kilted: such messages do not stay in the process.
    }
    if (late && !rig::spin_until(executor, [&]() {return late->arrived > 0;})) {
      return 2;
    }
    if (!rig::spin_until(executor, [&]() {return through.arrived >= 50 && within.arrived >= 50;})) {
      return 1;
    }
  }
  rclcpp::shutdown();
  return 0;
}

TEST(Trace, knows_the_chains_of_messages_through_the_middleware_and_within_the_process)
{
  const char * command = std::getenv("ROSPIN_COMMAND");
  if (command == nullptr) {
    GTEST_SKIP() << "ROSPIN_COMMAND does not name the rospin command";
  }
  const std::string path = ::testing::TempDir() + "/rospin_trace_" + std::to_string(getpid()) + ".mcap";
  (void)output_of("ROSPIN_TRACE='" + path + "' '" + program + "' record");
  const std::string model = output_of(std::string(command) + " trace model '" + path + "' 2>&1");
  for (const std::string name : {"through", "within"}) {
    for (const char * topic : {"first", "second", "third"}) {
      const std::string line = "publishes = [\"/" + name + "/" + topic + "\"]";
      EXPECT_NE(model.find(line), std::string::npos) << line << " is not in\n" << model;
    }
    const std::string to = "\", \"" + name + "/";
    const std::string chain = "callbacks = [\"" + name + "/timer0" + to + "first" + to + "second" + to + "third\"]";
    EXPECT_NE(model.find(chain), std::string::npos) << chain << " is not in\n" << model;
  }
  // Only the callback that has published it, and not the one that made the late subscription.
  const std::string old = "publishes = [\"/late/old\"]";
  const size_t first = model.find(old);
  EXPECT_TRUE(first == std::string::npos || model.find(old, first + 1) == std::string::npos) << model;
  std::remove(path.c_str());
}

int main(int argc, char ** argv)
{
  program = argv[0];
  if (argc > 1 && std::string(argv[1]) == "record") {
    return record();
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
