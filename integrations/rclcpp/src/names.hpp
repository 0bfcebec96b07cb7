// Names of groups and callbacks, as deployment files and traces know them.
#ifndef NAMES_HPP_
#define NAMES_HPP_

#include <cstddef>
#include <string>

namespace rospin
{

/// Returns the name of a callback of the node called `node` (such as "/robot/camera") for the topic or service called
/// `full` (such as "/robot/image"): "robot/camera/image". Topics below the node or its namespace are relative to it.
std::string callback_name(const std::string & node, const std::string & full);

/// Returns the name of a callback that has no name in ROS: "robot/camera/timer0".
std::string numbered_name(const std::string & node, const std::string & kind, size_t number);

/// True if operators reach the node called `node` by the service called `full`: its parameters, the states of a managed
/// node, and the components of a container. It is answered before all callbacks, so that an overloaded node can be told
/// to do less.
bool is_way_in(const std::string & node, const std::string & full);

}  // namespace rospin

#endif  // NAMES_HPP_
