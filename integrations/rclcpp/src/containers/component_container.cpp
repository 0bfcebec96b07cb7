// Container whose components share an executor with one thread.
#include <memory>

#include "containers/container.hpp"

int main(int argc, char ** argv)
{
  return rospin::run_container(
    argc, argv, []() {
      const auto executor = std::make_shared<rospin::Executor>(rospin::container_options("main", 1));
      const auto manager = std::make_shared<rospin::SharedManager>();
      manager->set_rospin_executor(executor);
      executor->add_node(manager);
      return rospin::spin_and_log(*executor);
    });
}
