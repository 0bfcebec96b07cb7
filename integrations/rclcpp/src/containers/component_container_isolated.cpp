// Container that gives each component an executor of its own, which is called as the node is.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "containers/container.hpp"

namespace
{

/// An executor that spins on a thread of its own until this is destroyed.
class Spinning
{
public:
  Spinning(std::shared_ptr<rospin::Executor> executor, std::function<void()> on_failure)
  : executor_(std::move(executor)), on_failure_(std::move(on_failure)), thread_([this]() {spin();})
  {
  }

  rospin::Executor & executor() const
  {
    return *executor_;
  }

  /// Ends the spin, after the callbacks that run.
  ~Spinning()
  {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!has_ended_) {
      // It does nothing before the spin begins.
      executor_->cancel();
      ended_.wait_for(lock, std::chrono::milliseconds(1));
    }
    lock.unlock();
    thread_.join();
  }

private:
  void spin()
  {
    if (!rospin::spin_and_log(*executor_)) {
      on_failure_();
    }
    std::lock_guard<std::mutex> guard(mutex_);
    has_ended_ = true;
    ended_.notify_one();
  }

  const std::shared_ptr<rospin::Executor> executor_;
  const std::function<void()> on_failure_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool has_ended_ = false;
  /// The last one: it uses all others.
  std::thread thread_;
};

class IsolatedManager : public rclcpp_components::ComponentManager
{
public:
  /// 0 threads for each component means as many as there are cores.
  IsolatedManager(const std::shared_ptr<rospin::Executor> & executor, size_t threads)
  : ComponentManager(executor), threads_(threads)
  {
  }

  ~IsolatedManager() override
  {
    spinning_.clear();
    node_wrappers_.clear();
  }

  /// True once a callback of a component has failed. Then rclcpp is shut down.
  bool has_failed() const
  {
    return has_failed_.load();
  }

protected:
  void add_node_to_executor(uint64_t node_id) override
  {
    const auto node = node_wrappers_[node_id].get_node_base_interface();
    // Without the slash at its beginning, as in the names of callbacks.
    const std::string name = std::string(node->get_fully_qualified_name()).substr(1);
    const auto executor = std::make_shared<rospin::Executor>(rospin::container_options(name, threads_));
    executor->add_node(node);
    const auto fail = [this]() {
        has_failed_.store(true);
        rclcpp::shutdown();
      };
    spinning_[node_id] = std::make_unique<Spinning>(executor, fail);
  }

  void remove_node_from_executor(uint64_t node_id) override
  {
    const auto found = spinning_.find(node_id);
    if (found != spinning_.end()) {
      // A deployment file may have moved callbacks to other executors, which go on.
      found->second->executor().remove_node_and_wait(node_wrappers_[node_id].get_node_base_interface());
      spinning_.erase(found);
    }
  }

private:
  const size_t threads_;
  std::atomic<bool> has_failed_{false};
  std::map<uint64_t, std::unique_ptr<Spinning>> spinning_;
};

}  // namespace

int main(int argc, char ** argv)
{
  return rospin::run_container(
    argc, argv, [&]() {
      const std::vector<std::string> arguments = rclcpp::remove_ros_arguments(argc, argv);
      const bool has_several_threads =
        std::find(arguments.begin(), arguments.end(), "--use_multi_threaded_executor") != arguments.end();
      const auto executor = std::make_shared<rospin::Executor>(rospin::container_options("main", 1));
      const auto manager = std::make_shared<IsolatedManager>(executor, has_several_threads ? 0 : 1);
      executor->add_node(manager);
      return rospin::spin_and_log(*executor) && !manager->has_failed();
    });
}
