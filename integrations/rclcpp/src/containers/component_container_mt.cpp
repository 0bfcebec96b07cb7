// Container whose components share an executor with several threads: `thread_num`, or as many as there are cores.
#include <memory>

#include "containers/container.hpp"

int main(int argc, char ** argv)
{
  return rospin::run_container(
    argc, argv, []() {
      const auto manager = std::make_shared<rospin::SharedManager>();
      size_t threads = 0;
      if (manager->has_parameter("thread_num")) {
        threads = static_cast<size_t>(manager->get_parameter("thread_num").as_int());
      }
      const auto executor = std::make_shared<rospin::Executor>(rospin::container_options("main", threads));
      manager->set_rospin_executor(executor);
      executor->add_node(manager);
      return rospin::spin_and_log(*executor);
    });
}
