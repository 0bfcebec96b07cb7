#include "names.hpp"

#include <set>
#include <string>

namespace rospin
{

namespace
{

/// Returns the name without a slash at its beginning.
std::string without_slash(const std::string & name)
{
  return name.rfind('/', 0) == 0 ? name.substr(1) : name;
}

bool begins_with(const std::string & name, const std::string & prefix)
{
  return name.rfind(prefix, 0) == 0;
}

}  // namespace

std::string callback_name(const std::string & node, const std::string & full)
{
  const std::string below_node = node + "/";
  // With the slash after it; "/" for a node in no namespace.
  const std::string name_space = node.substr(0, node.rfind('/') + 1);
  std::string relative = without_slash(full);
  if (begins_with(full, below_node)) {
    relative = full.substr(below_node.size());
  } else if (begins_with(full, name_space)) {
    relative = full.substr(name_space.size());
  }
  return without_slash(node) + "/" + relative;
}

std::string numbered_name(const std::string & node, const std::string & kind, size_t number)
{
  const std::string name = kind + std::to_string(number);
  return node.empty() ? name : without_slash(node) + "/" + name;
}

bool is_way_in(const std::string & node, const std::string & full)
{
  static const std::set<std::string> services = {
    "describe_parameters", "get_parameter_types", "get_parameters", "list_parameters", "set_parameters",
    "set_parameters_atomically", "change_state", "get_available_states", "get_available_transitions", "get_state",
    "get_transition_graph", "_container/load_node", "_container/unload_node", "_container/list_nodes"};
  const std::string below_node = node + "/";
  return begins_with(full, below_node) && services.count(full.substr(below_node.size())) > 0;
}

}  // namespace rospin
