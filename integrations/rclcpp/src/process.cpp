#include "process.hpp"

#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>

#include "rcutils/logging_macros.h"

namespace rospin
{

namespace
{

void log(void *, int32_t level, const char * message)
{
  switch (level) {
    case ROSPIN_LOG_ERROR:
      RCUTILS_LOG_ERROR_NAMED("rospin", "%s", message);
      break;
    case ROSPIN_LOG_WARN:
      RCUTILS_LOG_WARN_NAMED("rospin", "%s", message);
      break;
    case ROSPIN_LOG_INFO:
      RCUTILS_LOG_INFO_NAMED("rospin", "%s", message);
      break;
    default:
      RCUTILS_LOG_DEBUG_NAMED("rospin", "%s", message);
  }
}

/// Ends a context, and warns of names in the deployment file that nothing had.
void end_context(rospin_context * context)
{
  rospin_context_warn_of_unknown_names(context);
  rospin_context_destroy(context);
}

/// Starts what a process has once, as its environment asks for it.
void start_once()
{
  static std::once_flag once;
  std::call_once(
    once, []() {
      if (rospin_abi_version() != ROSPIN_ABI_VERSION) {
        throw std::runtime_error("rospin_rclcpp was built with the header of another version of rospin");
      }
      // Refused if the program has logging of Rust's own, which then has the messages.
      (void)rospin_set_log(log, nullptr, ROSPIN_LOG_INFO);
      check(rospin_trace_start_from_env(), "starting the trace");
    });
}

}  // namespace

void check(rospin_status status, const std::string & doing)
{
  if (status < 0) {
    throw std::runtime_error(doing + ": " + rospin_last_error());
  }
}

std::shared_ptr<rospin_context> context_of_process(bool loads_later)
{
  static std::mutex mutex;
  static std::weak_ptr<rospin_context> known;
  start_once();
  std::lock_guard<std::mutex> guard(mutex);
  std::shared_ptr<rospin_context> context = known.lock();
  if (!context) {
    rospin_context_options options = {};
    options.struct_size = sizeof(options);
    options.from_env = true;
    options.loads_later = loads_later;
    rospin_context * created = nullptr;
    check(rospin_context_create(&options, &created), "creating rospin's context");
    context = std::shared_ptr<rospin_context>(created, end_context);
    known = context;
  }
  return context;
}

}  // namespace rospin
