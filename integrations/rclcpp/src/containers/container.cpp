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

int run_container(int argc, char ** argv, const std::function<bool()> & spin)
{
  bool has_failed = false;
  try {
    rclcpp::init(argc, argv);
    has_failed = !spin();
  } catch (const std::exception & exception) {
    RCLCPP_FATAL(rclcpp::get_logger("rospin"), "%s", exception.what());
    has_failed = true;
  }
  rclcpp::shutdown();
  return has_failed ? 1 : 0;
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
