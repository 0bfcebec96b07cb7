#include "registry.hpp"

#include <algorithm>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "messages.hpp"
#include "names.hpp"
#include "process.hpp"
#include "rcutils/logging_macros.h"
#include "timers.hpp"
#include "waitables.hpp"

namespace rospin
{

struct Registry::Wanted
{
  /// Subscription, timer, service, client or waitable.
  std::shared_ptr<const void> of;
  NamedGroup group;
  int32_t kind;
  /// The name of the topic or service; empty if there is none.
  std::string full;
  /// The name of callbacks of this kind, before a number, if there is no topic or service.
  const char * unnamed;
  /// The largest number of items that wait; 0 if that is unknown.
  size_t depth;
  std::function<std::shared_ptr<Source>()> create;
};

/// Handles of rospin's, which are destroyed with this.
struct Registry::Handles
{
  struct Destroy
  {
    void operator()(rospin_group * group) const {rospin_group_destroy(group);}
    void operator()(rospin_entity * entity) const {rospin_entity_destroy(entity);}
  };
};

struct Registry::Group
{
  std::weak_ptr<rclcpp::CallbackGroup> of;
  std::unique_ptr<rospin_group, Handles::Destroy> handle;
};

struct Registry::Callback
{
  std::weak_ptr<const void> of;
  std::weak_ptr<const void> group_of;
  /// The node of the group.
  std::weak_ptr<const void> owner;
  int32_t kind;
  std::string name;
  size_t depth;
  bool is_way_in;
  std::shared_ptr<Source> source;
  /// Of all entities that the callback has had.
  std::shared_ptr<Door> door = std::make_shared<Door>();
  std::unique_ptr<rospin_entity, Handles::Destroy> handle;

  void remove()
  {
    source->detach();
    handle.reset();
  }
};

namespace
{

/// The priority of services that operators need, above all others.
constexpr uint32_t WAY_IN = UINT32_MAX;

size_t depth_of(const rclcpp::QoS & qos)
{
  return qos.history() == rclcpp::HistoryPolicy::KeepLast ? qos.depth() : 0;
}

}  // namespace

Registry::Registry(
  std::shared_ptr<const rospin_context> context, const rospin_executor * executor, std::shared_ptr<Failure> failure)
: context_(std::move(context)), executor_(executor), failure_(std::move(failure))
{
}

Registry::~Registry()
{
  std::vector<Removed> removed;
  remove_all_but({}, removed);
}

std::shared_ptr<const void> Registry::update(const std::vector<NamedGroup> & groups, std::vector<Removed> & removed)
{
  const auto all = std::make_shared<std::vector<Wanted>>();
  std::set<const void *> wanted_groups;
  for (const NamedGroup & group : groups) {
    wanted_groups.insert(group.group.get());
    find(group, *all);
  }
  std::map<const void *, const Wanted *> by_key;
  for (const Wanted & one : *all) {
    by_key.emplace(one.of.get(), &one);
  }
  // First, because what is new may be where something else was in memory.
  remove_all_but(by_key, removed);
  for (auto it = groups_.begin(); it != groups_.end(); ) {
    const bool stays = wanted_groups.count(it->first) > 0 && !it->second.of.expired();
    it = stays ? std::next(it) : groups_.erase(it);
  }
  for (const Wanted & one : *all) {
    if (callbacks_.count(one.of.get()) == 0) {
      add(one);
    }
  }
  return all;
}

/// Finds all callbacks of a group, in the order in which they were created, kind by kind. One that ends has clients.
void Registry::find(const NamedGroup & group, std::vector<Wanted> & wanted) const
{
  // A subscription takes messages of the same process itself.
  std::set<const rclcpp::Waitable *> intra_process;
  const auto add_client = [&](const rclcpp::ClientBase::SharedPtr & client) {
      wanted.push_back(
        {client, group, ROSPIN_KIND_CLIENT, client->get_service_name(), "", 0,
          [client]() {return source_of(client);}});
      return false;
    };
  if (group.is_ending) {
    (void)group.group->find_client_ptrs_if(add_client);
    return;
  }
  group.group->collect_all_ptrs(
    [&](const rclcpp::SubscriptionBase::SharedPtr & subscription) {
      intra_process.insert(intra_process_of(*subscription).get());
      const size_t depth = depth_of(subscription->get_actual_qos());
      wanted.push_back(
        {subscription, group, ROSPIN_KIND_SUBSCRIPTION, subscription->get_topic_name(), "", depth,
          [subscription]() {return source_of(subscription);}});
    },
    [&](const rclcpp::ServiceBase::SharedPtr & service) {
      wanted.push_back(
        {service, group, ROSPIN_KIND_SERVICE, service->get_service_name(), "", 0,
          [service]() {return source_of(service);}});
    },
    [&](const rclcpp::ClientBase::SharedPtr & client) {(void)add_client(client);},
    [&](const rclcpp::TimerBase::SharedPtr & timer) {
      const auto context = context_;
      wanted.push_back(
        {timer, group, ROSPIN_KIND_TIMER, "", "timer", 0,
          [timer, context]() {return source_of(timer, context);}});
    },
    [&](const rclcpp::Waitable::SharedPtr & waitable) {
      if (intra_process.count(waitable.get()) == 0) {
        wanted.push_back(
          {waitable, group, ROSPIN_KIND_WAITABLE, "", "waitable", 0, [waitable]() {return source_of(waitable);}});
      }
    });
}

void Registry::remove_all_but(
  const std::map<const void *, const Wanted *> & wanted, std::vector<Removed> & removed)
{
  for (auto it = callbacks_.begin(); it != callbacks_.end(); ) {
    Callback & callback = it->second;
    const auto found = wanted.find(it->first);
    const bool stays = found != wanted.end() && !callback.of.expired() &&
      found->second->group.group == callback.group_of.lock();
    if (stays) {
      ++it;
    } else {
      removed.push_back({callback.owner, callback.door});
      callback.remove();
      if (callback.kind == ROSPIN_KIND_TIMER || callback.kind == ROSPIN_KIND_WAITABLE) {
        numbered_.erase(callback.name);
      }
      it = callbacks_.erase(it);
    }
  }
}

void Registry::add(const Wanted & wanted)
{
  Callback callback;
  callback.of = wanted.of;
  callback.group_of = wanted.group.group;
  callback.owner = wanted.group.owner;
  callback.kind = wanted.kind;
  callback.name = name_for(wanted);
  callback.depth = wanted.depth;
  callback.is_way_in = wanted.kind == ROSPIN_KIND_SERVICE && is_way_in(wanted.group.node, wanted.full);
  callback.source = wanted.create();
  create(callback, group_for(wanted.group));
  callbacks_.emplace(wanted.of.get(), std::move(callback));
}

/// Makes rospin's entity of the callback, in place of the one that it has. What has come stays in the source.
void Registry::create(Callback & callback, const Group & group)
{
  rospin_entity_options options = {};
  options.struct_size = sizeof(options);
  options.name = callback.name.c_str();
  options.kind = callback.kind;
  set_options_priority(options, callback);
  options.depth = static_cast<uint32_t>(std::min<size_t>(callback.depth, UINT32_MAX));
  options.period_ns = callback.source->period();
  const bool is_timer = callback.kind == ROSPIN_KIND_TIMER;
  const rospin_source functions = source_for_rospin(callback.source, failure_, callback.door, is_timer);
  const auto create = is_timer ? rospin_timer_create : rospin_entity_create;
  rospin_entity * entity = nullptr;
  check(create(group.handle.get(), &options, &functions, &entity), "creating `" + callback.name + "`");
  try {
    callback.source->attach(entity);
  } catch (const std::exception & exception) {
    RCUTILS_LOG_ERROR_NAMED(
      "rospin", "`%s` never runs, because it cannot tell when it has something: %s", callback.name.c_str(),
      exception.what());
  }
  callback.handle.reset(entity);
}

Registry::Group & Registry::group_for(const NamedGroup & named)
{
  Group & group = groups_[named.group.get()];
  if (!group.handle) {
    rospin_group_options options = {};
    options.struct_size = sizeof(options);
    options.name = named.name.c_str();
    options.node = named.node.empty() ? nullptr : named.node.c_str();
    options.is_reentrant = named.group->type() == rclcpp::CallbackGroupType::Reentrant;
    rospin_group * handle = nullptr;
    check(rospin_group_create(executor_, &options, &handle), "creating the group `" + named.name + "`");
    group.of = named.group;
    group.handle.reset(handle);
  }
  return group;
}

std::string Registry::name_for(const Wanted & wanted)
{
  const std::string & node = wanted.group.node;
  if (!wanted.full.empty()) {
    return callback_name(node, wanted.full);
  }
  size_t number = 0;
  std::string name = numbered_name(node, wanted.unnamed, number);
  while (!numbered_.insert(name).second) {
    number += 1;
    name = numbered_name(node, wanted.unnamed, number);
  }
  return name;
}

void Registry::set_options_priority(rospin_entity_options & options, const Callback & callback) const
{
  auto found = priorities_.find(callback.of);
  if (found == priorities_.end()) {
    found = priorities_.find(callback.group_of);
  }
  if (found != priorities_.end()) {
    options.has_priority = true;
    options.priority = found->second;
  } else if (callback.is_way_in) {
    options.has_priority = true;
    options.priority = WAY_IN;
  }
}

void Registry::set_priority(const std::shared_ptr<const void> & of, uint32_t priority)
{
  for (auto it = priorities_.begin(); it != priorities_.end(); ) {
    it = it->first.expired() ? priorities_.erase(it) : std::next(it);
  }
  priorities_[of] = priority;
  for (auto & entry : callbacks_) {
    Callback & callback = entry.second;
    const auto group = callback.group_of.lock();
    if (group && !callback.of.expired() && (callback.of.lock() == of || group == of)) {
      create(callback, groups_[group.get()]);
    }
  }
}

}  // namespace rospin
