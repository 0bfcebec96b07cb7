// rospin as the executor of rclcpp nodes.
#ifndef ROSPIN_RCLCPP__EXECUTOR_HPP_
#define ROSPIN_RCLCPP__EXECUTOR_HPP_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "rclcpp/rclcpp.hpp"

namespace rospin
{

/// Options of an executor.
struct ExecutorOptions
{
  /// The name that deployment files and traces know the executor by. Its threads are named after it.
  std::string name = "main";
  /// The order of callbacks: "fixed-priority" (first in, first out among equals), "fifo" or "edf".
  std::string policy = "fixed-priority";
  /// The number of threads that run callbacks, including the one that spins. 0: as many as there are cores.
  size_t threads = 1;
  /// For how long an idle thread looks for work before it sleeps.
  std::chrono::nanoseconds busy_poll{0};
  /// True: nodes come while the executor spins, as in a container. Then a deployment file may name what is not there
  /// yet. The template is written anew when something comes, and the end of the program warns of names that never came.
  /// This is of the whole process, and its first executor decides.
  bool loads_later = false;
  /// The options of the base class, such as the rclcpp context.
  rclcpp::ExecutorOptions rclcpp;
};

/// An executor for rclcpp nodes whose callbacks run in the order of their priorities, on rospin's engine.
/**
 * It is used as rclcpp's executors are. Without priorities, callbacks run in the order in which their messages,
 * requests and due times came. Deployment files (ROSPIN_DEPLOYMENT) and traces (ROSPIN_TRACE) work as in Rust programs.
 * Callbacks are called NODE/TOPIC or NODE/SERVICE there, with the name that `ros2 node info` shows, or NODE/timer0,
 * NODE/timer1, ...
 *
 * An exception that leaves a callback leaves `spin`, after the callbacks on other threads have ended.
 */
class Executor : public rclcpp::Executor
{
public:
  RCLCPP_SMART_PTR_DEFINITIONS(Executor)

  /// Creates an executor called "main". 0 threads means as many as there are cores.
  /**
   * \throw std::runtime_error if the deployment file is invalid
   */
  explicit Executor(
    const rclcpp::ExecutorOptions & options = rclcpp::ExecutorOptions(), size_t threads = 1);

  /// Creates an executor with options of rospin's.
  /**
   * \throw std::runtime_error if the deployment file or an option is invalid
   */
  explicit Executor(const ExecutorOptions & options);

  ~Executor() override;

  /// Gives all callbacks of a group the priority, unless they have one of their own. A larger one is more urgent.
  /**
   * A deployment file takes precedence. Messages that wait already are ordered anew.
   */
  void set_priority(const rclcpp::CallbackGroup::SharedPtr & group, uint32_t priority);
  /// Gives a subscription the priority, also for messages of the same process.
  void set_priority(const rclcpp::SubscriptionBase::SharedPtr & subscription, uint32_t priority);
  /// Gives a timer the priority.
  void set_priority(const rclcpp::TimerBase::SharedPtr & timer, uint32_t priority);
  /// Gives a service the priority.
  void set_priority(const rclcpp::ServiceBase::SharedPtr & service, uint32_t priority);
  /// Gives the responses to a client the priority.
  void set_priority(const rclcpp::ClientBase::SharedPtr & client, uint32_t priority);
  /// Gives anything else, such as the server or client of an action, the priority.
  void set_priority(const rclcpp::Waitable::SharedPtr & waitable, uint32_t priority);

  using rclcpp::Executor::add_node;
  using rclcpp::Executor::remove_node;

  void add_node(
    rclcpp::node_interfaces::NodeBaseInterface::SharedPtr node, bool notify = true) override;
  void remove_node(
    rclcpp::node_interfaces::NodeBaseInterface::SharedPtr node, bool notify = true) override;
  void add_callback_group(
    rclcpp::CallbackGroup::SharedPtr group,
    rclcpp::node_interfaces::NodeBaseInterface::SharedPtr node, bool notify = true) override;
  /// Removes a node, and waits for its callbacks that run on other threads: the node may be destroyed then.
  /**
   * Such a callback must not wait for the caller. It may wait for a response, if another thread is left that takes it:
   * the node's clients are removed last. What the calling thread itself runs is not waited for.
   */
  void remove_node_and_wait(const rclcpp::node_interfaces::NodeBaseInterface::SharedPtr & node);
  void remove_callback_group(rclcpp::CallbackGroup::SharedPtr group, bool notify = true) override;

  /// Runs callbacks until the executor is cancelled or rclcpp is shut down.
  void spin() override;
  /// Runs what is ready now, for at most that time. 0: no limit.
  void spin_some(std::chrono::nanoseconds max_duration = std::chrono::nanoseconds(0)) override;
  /// Runs what is ready, and what becomes ready meanwhile, for at most that time. 0: no limit.
  void spin_all(std::chrono::nanoseconds max_duration) override;
  /// Ends the spin. Callbacks that are running are waited for.
  void cancel() override;

protected:
  void spin_once_impl(std::chrono::nanoseconds timeout) override;

private:
  RCLCPP_DISABLE_COPY(Executor)

  class Spin;

  void refresh();
  void run(int32_t mode, std::chrono::nanoseconds limit, bool is_limited);

  std::unique_ptr<Spin> spin_;
};

}  // namespace rospin

#endif  // ROSPIN_RCLCPP__EXECUTOR_HPP_
