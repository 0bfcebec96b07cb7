#include "rospin_rclcpp/executor.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "process.hpp"
#include "rcpputils/scope_exit.hpp"
#include "rcutils/logging_macros.h"
#include "registry.hpp"
#include "source.hpp"

namespace rospin
{

namespace
{

using NodeBase = rclcpp::node_interfaces::NodeBaseInterface;
using Groups = std::set<rclcpp::CallbackGroup::WeakPtr, std::owner_less<rclcpp::CallbackGroup::WeakPtr>>;

/// The numbers of groups, which they keep as long as they live.
class GroupNames
{
public:
  /// Returns the groups of a node, in the order in which they were created, with their names.
  /**
   * The node's own group has the node's name, as in Rust.
   */
  std::vector<NamedGroup> groups_of(const NodeBase::SharedPtr & node)
  {
    std::vector<NamedGroup> groups;
    const std::string full = node->get_fully_qualified_name();
    const std::weak_ptr<const void> owner = node;
    node->for_each_callback_group(
      [&](rclcpp::CallbackGroup::SharedPtr group) {
        const bool is_own = group == node->get_default_callback_group();
        const std::string name = is_own ? node->get_name() : numbered(group, full);
        groups.push_back({std::move(group), full, name, owner, false});
      });
    return groups;
  }

  /// Returns the name and node of a group that was added by itself.
  NamedGroup named_group(const rclcpp::CallbackGroup::SharedPtr & group, const NodeBase::SharedPtr & node)
  {
    if (node) {
      for (NamedGroup & named : groups_of(node)) {
        if (named.group == group) {
          return std::move(named);
        }
      }
    }
    return {group, "", numbered(group, ""), node, false};
  }

private:
  /// The node and the number of a group.
  using Number = std::pair<std::string, size_t>;

  /// Returns the name of a group that has none: with the smallest number that no other one of the node has.
  std::string numbered(const rclcpp::CallbackGroup::SharedPtr & group, const std::string & node)
  {
    const auto found = numbers_.find(group);
    if (found != numbers_.end()) {
      return "group" + std::to_string(found->second.second);
    }
    std::set<Number> taken;
    for (auto it = numbers_.begin(); it != numbers_.end(); ) {
      if (it->first.expired()) {
        it = numbers_.erase(it);
      } else {
        taken.insert(it->second);
        ++it;
      }
    }
    size_t number = 0;
    while (taken.count({node, number}) > 0) {
      number += 1;
    }
    numbers_[group] = {node, number};
    return "group" + std::to_string(number);
  }

  std::map<rclcpp::CallbackGroup::WeakPtr, Number, std::owner_less<rclcpp::CallbackGroup::WeakPtr>> numbers_;
};

}  // namespace

/// The executor as rospin has it, and what it looks for.
class Executor::Spin
{
public:
  Spin(Executor & executor, const ExecutorOptions & options);
  ~Spin();

  /// Has a thread of the executor look for new groups and callbacks, before the next callback.
  void note_change();
  /// Returns the groups that the registry is to have, and adds their nodes to `held`.
  std::vector<NamedGroup> named_groups(std::vector<NodeBase::SharedPtr> & held);
  /// Waits until no other thread runs a callback of the node's that was removed. None of them starts any more.
  void wait_for_removed(const NodeBase::SharedPtr & node);

  Executor & executor;
  const std::shared_ptr<rospin_context> context;
  /// Of callbacks of this executor's groups.
  const std::shared_ptr<Failure> failure = Failure::create();
  /// Of a look for changes.
  const std::shared_ptr<Failure> look_failure = Failure::create();
  rospin_executor * handle = nullptr;
  /// Entity of the executor's own, the most urgent one, which looks for changes when it is notified.
  rospin_entity * changes = nullptr;
  std::atomic<bool> has_changed{true};
  /// The mode of the last spin that has begun.
  std::atomic<int32_t> mode{ROSPIN_SPIN_UNTIL_HALTED};
  /// Held while a spin is cancelled.
  std::mutex cancelling;
  rclcpp::OnShutdownCallbackHandle at_shutdown;

  /// Protects all that follows.
  std::mutex mutex;
  std::unique_ptr<Registry> registry;
  /// Nodes and groups, in the order in which they were added.
  std::vector<NodeBase::WeakPtr> nodes;
  std::vector<std::pair<rclcpp::CallbackGroup::WeakPtr, NodeBase::WeakPtr>> groups;
  /// Nodes whose callbacks are being waited for. Of these, only clients are left.
  std::set<NodeBase::SharedPtr> ending;
  /// Callbacks that may run still, by whatever they were removed.
  std::vector<Removed> removed;
  GroupNames names;

private:
  void create_changes(const std::string & name);
  /// Looks for changes, and takes nothing: no spin counts that as a callback.
  static int32_t look(void * spin, rospin_taken *);
};

Executor::Spin::Spin(Executor & executor, const ExecutorOptions & options)
: executor(executor), context(context_of_process(options.loads_later))
{
  const size_t threads = options.threads == 0 ? UINT16_MAX : std::min<size_t>(options.threads, UINT16_MAX);
  rospin_executor_options asked = {};
  asked.struct_size = sizeof(asked);
  asked.name = options.name.c_str();
  asked.policy = options.policy.c_str();
  asked.threads = static_cast<uint16_t>(threads);
  asked.busy_poll_ns = options.busy_poll.count();
  check(rospin_executor_create(context.get(), &asked, &handle), "creating the executor `" + options.name + "`");
  registry = std::make_unique<Registry>(context, handle, failure);
  create_changes("_rospin/" + options.name);
}

Executor::Spin::~Spin()
{
  rospin_entity_destroy(changes);
  registry.reset();
  rospin_executor_destroy(handle);
}

void Executor::Spin::create_changes(const std::string & name)
{
  rospin_group_options group_options = {};
  group_options.struct_size = sizeof(group_options);
  group_options.name = name.c_str();
  group_options.is_reentrant = true;
  rospin_group * group = nullptr;
  check(rospin_group_create(handle, &group_options, &group), "creating the group `" + name + "`");
  rospin_entity_options options = {};
  options.struct_size = sizeof(options);
  options.name = name.c_str();
  options.kind = ROSPIN_KIND_WAITABLE;
  options.has_priority = true;
  options.priority = UINT32_MAX;
  rospin_source source = {};
  source.struct_size = sizeof(source);
  source.data = this;
  source.take = look;
  source.run = [](void *, void *) {return 0;};
  const rospin_status status = rospin_entity_create(group, &options, &source, &changes);
  // It lives on as long as the entity.
  rospin_group_destroy(group);
  check(status, "creating `" + name + "`");
}

void Executor::Spin::note_change()
{
  // In this order, and the other way around in run(): the spin sees the change, or this sees the mode.
  has_changed.store(true);
  // A spin of what is ready has no room for more. The next one looks when it begins.
  if (mode.load() != ROSPIN_SPIN_SOME) {
    rospin_entity_notify(changes);
  }
}

int32_t Executor::Spin::look(void * data, rospin_taken *)
{
  Spin & spin = *static_cast<Spin *>(data);
  if (spin.has_changed.load()) {
    try {
      spin.executor.refresh();
    } catch (...) {
      spin.look_failure->keep();
      rospin_executor_halt(spin.handle);
    }
  }
  return ROSPIN_TAKE_EMPTY;
}

std::vector<NamedGroup> Executor::Spin::named_groups(std::vector<NodeBase::SharedPtr> & held)
{
  executor.collector_.update_collections();
  const auto all = executor.collector_.get_all_callback_groups();
  Groups left(all.begin(), all.end());
  std::vector<NamedGroup> named;
  for (auto it = nodes.begin(); it != nodes.end(); ) {
    const auto node = it->lock();
    if (!node) {
      it = nodes.erase(it);
      continue;
    }
    held.push_back(node);
    for (NamedGroup & group : names.groups_of(node)) {
      if (left.erase(group.group) > 0) {
        group.is_ending = ending.count(node) > 0;
        named.push_back(std::move(group));
      }
    }
    ++it;
  }
  for (auto it = groups.begin(); it != groups.end(); ) {
    const auto group = it->first.lock();
    if (!group) {
      it = groups.erase(it);
      continue;
    }
    if (left.erase(group) > 0) {
      held.push_back(it->second.lock());
      named.push_back(names.named_group(group, held.back()));
    }
    ++it;
  }
  return named;
}

void Executor::Spin::wait_for_removed(const NodeBase::SharedPtr & node)
{
  std::vector<std::shared_ptr<Door>> doors;
  {
    std::lock_guard<std::mutex> guard(mutex);
    for (const Removed & callback : removed) {
      // The node lives: no other one has the same owner.
      const bool is_of_node = !callback.owner.owner_before(node) && !node.owner_before(callback.owner);
      auto door = is_of_node ? callback.door.lock() : nullptr;
      if (door) {
        doors.push_back(std::move(door));
      }
    }
  }
  for (const auto & door : doors) {
    door->close();
  }
  for (const auto & door : doors) {
    door->wait();
  }
}

Executor::Executor(const rclcpp::ExecutorOptions & options, size_t threads)
: Executor([&]() {
      ExecutorOptions all;
      all.threads = threads;
      all.rclcpp = options;
      return all;
    }())
{
}

Executor::Executor(const ExecutorOptions & options)
: rclcpp::Executor(options.rclcpp), spin_(std::make_unique<Spin>(*this, options))
{
  // Nodes and groups tell of changes by guard conditions, and this is told of all of them.
  notify_waitable_->set_on_ready_callback([spin = spin_.get()](size_t, int) {spin->note_change();});
  spin_->at_shutdown = context_->add_on_shutdown_callback(
    [spin = spin_.get()]() {rospin_executor_halt(spin->handle);});
}

Executor::~Executor()
{
  spinning.store(false);
  context_->remove_on_shutdown_callback(spin_->at_shutdown);
  notify_waitable_->clear_on_ready_callback();
  spin_.reset();
}

void Executor::set_priority(const rclcpp::CallbackGroup::SharedPtr & group, uint32_t priority)
{
  std::lock_guard<std::mutex> guard(spin_->mutex);
  spin_->registry->set_priority(group, priority);
}

void Executor::set_priority(const rclcpp::SubscriptionBase::SharedPtr & subscription, uint32_t priority)
{
  std::lock_guard<std::mutex> guard(spin_->mutex);
  spin_->registry->set_priority(subscription, priority);
}

void Executor::set_priority(const rclcpp::TimerBase::SharedPtr & timer, uint32_t priority)
{
  std::lock_guard<std::mutex> guard(spin_->mutex);
  spin_->registry->set_priority(timer, priority);
}

void Executor::set_priority(const rclcpp::ServiceBase::SharedPtr & service, uint32_t priority)
{
  std::lock_guard<std::mutex> guard(spin_->mutex);
  spin_->registry->set_priority(service, priority);
}

void Executor::set_priority(const rclcpp::ClientBase::SharedPtr & client, uint32_t priority)
{
  std::lock_guard<std::mutex> guard(spin_->mutex);
  spin_->registry->set_priority(client, priority);
}

void Executor::set_priority(const rclcpp::Waitable::SharedPtr & waitable, uint32_t priority)
{
  std::lock_guard<std::mutex> guard(spin_->mutex);
  spin_->registry->set_priority(waitable, priority);
}

void Executor::add_node(NodeBase::SharedPtr node, bool)
{
  collector_.add_node(node);
  {
    std::lock_guard<std::mutex> guard(spin_->mutex);
    spin_->nodes.push_back(node);
  }
  refresh();
}

void Executor::remove_node_and_wait(const NodeBase::SharedPtr & node)
{
  // A callback that runs may wait for a response: its clients are served until it has ended.
  const auto set_ending = [&](bool is_ending) {
      std::lock_guard<std::mutex> guard(spin_->mutex);
      if (is_ending) {
        spin_->ending.insert(node);
      } else {
        spin_->ending.erase(node);
      }
    };
  set_ending(true);
  RCPPUTILS_SCOPE_EXIT(set_ending(false););
  refresh();
  spin_->wait_for_removed(node);
  remove_node(node);
  spin_->wait_for_removed(node);
}

void Executor::remove_node(NodeBase::SharedPtr node, bool)
{
  collector_.remove_node(node);
  {
    std::lock_guard<std::mutex> guard(spin_->mutex);
    auto & nodes = spin_->nodes;
    const auto is_it = [&](const NodeBase::WeakPtr & other) {return other.lock() == node;};
    nodes.erase(std::remove_if(nodes.begin(), nodes.end(), is_it), nodes.end());
  }
  refresh();
}

void Executor::add_callback_group(rclcpp::CallbackGroup::SharedPtr group, NodeBase::SharedPtr node, bool)
{
  collector_.add_callback_group(group);
  {
    std::lock_guard<std::mutex> guard(spin_->mutex);
    spin_->groups.emplace_back(group, node);
  }
  refresh();
}

void Executor::remove_callback_group(rclcpp::CallbackGroup::SharedPtr group, bool)
{
  collector_.remove_callback_group(group);
  {
    std::lock_guard<std::mutex> guard(spin_->mutex);
    auto & groups = spin_->groups;
    const auto is_it = [&](const auto & other) {return other.first.lock() == group;};
    groups.erase(std::remove_if(groups.begin(), groups.end(), is_it), groups.end());
  }
  refresh();
}

/// Tells rospin of all groups and callbacks that there are now. Those that are gone do not start any more.
void Executor::refresh()
{
  // These may be the last ones to hold something, and are let go without the lock.
  std::vector<NodeBase::SharedPtr> nodes;
  std::vector<NamedGroup> groups;
  std::shared_ptr<const void> callbacks;
  {
    std::lock_guard<std::mutex> guard(spin_->mutex);
    // Before the look, so that no later change is missed.
    spin_->has_changed.store(false);
    groups = spin_->named_groups(nodes);
    auto & removed = spin_->removed;
    const auto has_ended = [](const Removed & callback) {return callback.door.expired();};
    removed.erase(std::remove_if(removed.begin(), removed.end(), has_ended), removed.end());
    callbacks = spin_->registry->update(groups, removed);
  }
  if (rospin_context_write_template(spin_->context.get()) < 0) {
    RCUTILS_LOG_ERROR_NAMED("rospin", "%s", rospin_last_error());
  }
}

void Executor::spin()
{
  if (spinning.exchange(true)) {
    throw std::runtime_error("spin() called while already spinning");
  }
  RCPPUTILS_SCOPE_EXIT(spinning.store(false););
  run(ROSPIN_SPIN_UNTIL_HALTED, {}, false);
}

void Executor::spin_some(std::chrono::nanoseconds max_duration)
{
  if (spinning.exchange(true)) {
    throw std::runtime_error("spin_some() called while already spinning");
  }
  RCPPUTILS_SCOPE_EXIT(spinning.store(false););
  // As in rclcpp, which has no error for a negative time.
  if (max_duration.count() >= 0) {
    run(ROSPIN_SPIN_SOME, max_duration, max_duration.count() > 0);
  }
}

void Executor::spin_all(std::chrono::nanoseconds max_duration)
{
  if (max_duration.count() < 0) {
    throw std::invalid_argument("max_duration must be greater than or equal to 0");
  }
  if (spinning.exchange(true)) {
    throw std::runtime_error("spin_all() called while already spinning");
  }
  RCPPUTILS_SCOPE_EXIT(spinning.store(false););
  run(ROSPIN_SPIN_ALL, max_duration, max_duration.count() > 0);
}

void Executor::spin_once_impl(std::chrono::nanoseconds timeout)
{
  run(ROSPIN_SPIN_ONCE, timeout, timeout.count() >= 0);
}

/// Spins in a mode of rospin's, for at most `limit` if it is limited. Throws what leaves a callback.
void Executor::run(int32_t mode, std::chrono::nanoseconds limit, bool is_limited)
{
  const auto begin = std::chrono::steady_clock::now();
  {
    // A cancel of an earlier spin is over then, and what is left of it ends the next one before anything runs.
    std::lock_guard<std::mutex> guard(spin_->cancelling);
  }
  rospin_spin_options options = {};
  options.struct_size = sizeof(options);
  options.mode = mode;
  options.has_timeout = is_limited;
  int32_t stop = 0;
  options.stop_status = &stop;
  spin_->mode.store(mode);
  rospin_status status = ROSPIN_HALTED;
  const uint64_t runs_before = runs_of_thread();
  // A halt is a cancel, the shutdown, or what is left of one that came when a spin had just ended.
  while (status == ROSPIN_HALTED) {
    if (spin_->has_changed.load()) {
      refresh();
    }
    if (!spinning.load() || !rclcpp::ok(context_)) {
      return;
    }
    const std::chrono::nanoseconds left = limit - (std::chrono::steady_clock::now() - begin);
    options.timeout_ns = std::max<int64_t>(left.count(), 0);
    status = rospin_executor_spin(spin_->handle, &options);
    if (status == ROSPIN_STOPPED) {
      Failure::rethrow(stop);
    }
    spin_->look_failure->rethrow();
    check(status, "spinning");
    if (mode == ROSPIN_SPIN_ONCE && status == ROSPIN_OK && runs_of_thread() == runs_before) {
      // It was a timer that was cancelled when it was due.
      status = ROSPIN_HALTED;
    }
  }
}

void Executor::cancel()
{
  std::lock_guard<std::mutex> guard(spin_->cancelling);
  if (spinning.exchange(false)) {
    rospin_executor_halt(spin_->handle);
  }
}

}  // namespace rospin
