// Parts that the containers of components have in common.
#ifndef CONTAINERS__CONTAINER_HPP_
#define CONTAINERS__CONTAINER_HPP_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "rclcpp_components/component_manager.hpp"
#include "rospin_rclcpp/executor.hpp"

namespace rospin
{

/// Returns the options of a container's executor. 0 threads means as many as there are cores.
ExecutorOptions container_options(const std::string & name, size_t threads);

/// Runs a container, and returns the exit status of the program.
/**
 * `spin` is called between the beginning and the end of rclcpp, and returns false if something failed that it has
 * logged. An exception, such as an invalid deployment file, is logged here.
 */
int run_container(int argc, char ** argv, const std::function<bool()> & spin);

/// Spins, and logs an exception that leaves the spin. Returns false then.
/**
 * The libraries of all components must be loaded still: one of them has the code of the exception.
 */
bool spin_and_log(Executor & executor);

/// Loads components into one executor. A component that is unloaded ends after its callbacks on other threads.
class SharedManager : public rclcpp_components::ComponentManager
{
public:
  using rclcpp_components::ComponentManager::ComponentManager;

  /// Sets the executor of all components.
  void set_rospin_executor(const std::shared_ptr<Executor> & executor);

protected:
  void remove_node_from_executor(uint64_t node_id) override;

private:
  std::weak_ptr<Executor> rospin_executor_;
};

}  // namespace rospin

#endif  // CONTAINERS__CONTAINER_HPP_
