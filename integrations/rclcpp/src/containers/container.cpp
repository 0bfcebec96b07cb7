#include "containers/container.hpp"

#include <exception>
#include <functional>
#include <memory>
#include <string>

namespace rospin
{

ExecutorOptions container_options(const std::string & name, size_t threads)
{
  ExecutorOptions options;
  options.name = name;
  options.threads = threads;
  options.loads_later = true;
  return options;
}

/// Calls `run`, and logs what it throws, within the call. Returns false then.
static bool log_failure(const std::function<void()> & run)
{
  try {
    run();
    return true;
  } catch (const std::exception & exception) {
    RCLCPP_FATAL(rclcpp::get_logger("rospin"), "%s", exception.what());
  } catch (...) {
    RCLCPP_FATAL(rclcpp::get_logger("rospin"), "an exception of an unknown type");
  }
  return false;
}

bool spin_and_log(Executor & executor)
{
  return log_failure([&]() {executor.spin();});
}

int run_container(int argc, char ** argv, const std::function<bool()> & spin)
{
  bool has_succeeded = false;
  const bool has_ended = log_failure(
    [&]() {
      rclcpp::init(argc, argv);
      has_succeeded = spin();
    });
  rclcpp::shutdown();
  return has_ended && has_succeeded ? 0 : 1;
}

void SharedManager::set_rospin_executor(const std::shared_ptr<Executor> & executor)
{
  rospin_executor_ = executor;
  set_executor(executor);
}

void SharedManager::remove_node_from_executor(uint64_t node_id)
{
  if (const auto executor = rospin_executor_.lock()) {
    executor->remove_node_and_wait(node_wrappers_[node_id].get_node_base_interface());
  }
}

}  // namespace rospin
