// The callbacks of an executor, as rospin knows them: rclcpp's groups and what is in them, kept up to date.
#ifndef REGISTRY_HPP_
#define REGISTRY_HPP_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "rclcpp/rclcpp.hpp"
#include "source.hpp"

namespace rospin
{

/// A callback group with what its callbacks are named after.
struct NamedGroup
{
  rclcpp::CallbackGroup::SharedPtr group;
  /// The full name of its node; empty if it has none.
  std::string node;
  std::string name;
  /// Its node, which may have its end before the group.
  std::weak_ptr<const void> owner;
  /// True if only its clients are to stay, because the node is being removed.
  bool is_ending = false;
};

/// A callback that was removed, and may run still.
struct Removed
{
  /// The node of its group.
  std::weak_ptr<const void> owner;
  /// It lives as long as rospin may run the callback.
  std::weak_ptr<Door> door;
};

/// The groups and callbacks that rospin knows. Calls must not overlap.
class Registry
{
public:
  /// `executor` must outlive the registry.
  Registry(
    std::shared_ptr<const rospin_context> context, const rospin_executor * executor,
    std::shared_ptr<Failure> failure);
  ~Registry();

  /// Adds what is new in these groups, and removes everything else, which is added to `removed`.
  /**
   * Returns their contents, to be let go without locks: something may have its end then, which runs code of the
   * program.
   */
  std::shared_ptr<const void> update(const std::vector<NamedGroup> & groups, std::vector<Removed> & removed);

  /// Sets the priority of a callback, or of all callbacks of a group that have none of their own.
  void set_priority(const std::shared_ptr<const void> & of, uint32_t priority);

private:
  /// A callback that is to be in the registry.
  struct Wanted;
  struct Handles;
  struct Group;
  struct Callback;

  using Priorities = std::map<std::weak_ptr<const void>, uint32_t, std::owner_less<std::weak_ptr<const void>>>;

  void find(const NamedGroup & group, std::vector<Wanted> & wanted) const;
  void remove_all_but(const std::map<const void *, const Wanted *> & wanted, std::vector<Removed> & removed);
  void add(const Wanted & wanted);
  void create(Callback & callback, const Group & group);
  Group & group_for(const NamedGroup & named);
  std::string name_for(const Wanted & wanted);
  /// Sets the priority that the program gave the callback or its group, if it did.
  void set_options_priority(rospin_entity_options & options, const Callback & callback) const;

  const std::shared_ptr<const rospin_context> context_;
  const rospin_executor * const executor_;
  const std::shared_ptr<Failure> failure_;
  std::map<const void *, Group> groups_;
  std::map<const void *, Callback> callbacks_;
  /// The names of timers, and of other callbacks that have none in ROS.
  std::set<std::string> numbered_;
  Priorities priorities_;
};

}  // namespace rospin

#endif  // REGISTRY_HPP_
