// rclcpp calls nobody when something is published, except ros2_tracing: its tracepoints are functions of the library
// tracetools, which every ROS 2 on Linux has and calls. This library has functions of the same names. Where a program
// links it, the dynamic linker finds them first, and they call those of tracetools when they have recorded the event.
// Where it does not find them, or tracetools is left out of ROS 2, publications are missing in traces.
//
// A message through the middleware is identified by its publisher and the time stamp of its publication, which its
// receiver gets, too. One within the process is in a ring buffer, one for each subscription. It is identified by the
// buffer and its number there. The functions of a buffer are called under its lock, so that numbers are in order.
#include "publications.hpp"

#include <dlfcn.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <random>
#include <string>

#include "process.hpp"
#include "rcl/error_handling.h"
#include "rcl/publisher.h"
#include "rcutils/logging_macros.h"
#include "rmw/rmw.h"

namespace rospin
{

namespace
{

using Id = std::array<uint8_t, 16>;

static_assert(sizeof(rmw_gid_t::data) >= sizeof(Id), "ids of publishers have 16 bytes");

/// A ring buffer with messages of the same process.
struct Buffer
{
  Id id;
  /// The number of the oldest message, and of the next one.
  uint64_t front = 0;
  uint64_t back = 0;
  bool is_named = false;
};

/// All that the recording needs to know of publications. Protected by its mutex.
struct Known
{
  std::mutex mutex;
  /// The ids of publishers whose topics were named, by their places in memory.
  std::map<const void *, Id> publishers;
  /// By their places in memory. A buffer in the place of an earlier one is another one.
  std::map<const void *, Buffer> buffers;
  uint64_t last_buffer = 0;
};

/// The publication that this thread is about. It may go to several buffers, and to the middleware.
struct Publication
{
  /// Where rcl has the publisher; null if there is no publication.
  const void * publisher = nullptr;
  int64_t at_ns = 0;
  /// Where the middleware has it, with its id; null unless the publication goes there.
  const rmw_publisher_t * of_middleware = nullptr;
  Id id;
};

thread_local Publication publication;
thread_local const std::string * taken_topic = nullptr;

/// Returns what is known. It is never destroyed, since threads may publish after `main`.
Known & known()
{
  static Known & known = *new Known;
  return known;
}

int64_t now_ns()
{
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

/// Returns the id of a buffer, which nothing else has: recordings of several processes are put together.
Id id_of_buffer(uint64_t number)
{
  static const std::array<uint32_t, 2> process = []() {
      std::random_device device;
      return std::array<uint32_t, 2>{device(), device()};
    }();
  Id id;
  std::memcpy(id.data(), process.data(), sizeof(process));
  std::memcpy(id.data() + sizeof(process), &number, sizeof(number));
  return id;
}

/// Adds a buffer, in place of one that was there before. The lock must be held.
Buffer & add_buffer(Known & all, const void * place)
{
  const auto earlier = all.buffers.find(place);
  if (earlier != all.buffers.end() && earlier->second.is_named) {
    (void)rospin_trace_forget_publisher(earlier->second.id.data());
  }
  all.last_buffer += 1;
  Buffer buffer;
  buffer.id = id_of_buffer(all.last_buffer);
  return all.buffers[place] = buffer;
}

/// Returns the buffer in that place. If it is new, it has `count` messages already. The lock must be held.
Buffer & buffer_at(Known & all, const void * place, uint64_t count)
{
  const auto found = all.buffers.find(place);
  if (found != all.buffers.end()) {
    return found->second;
  }
  Buffer & buffer = add_buffer(all, place);
  buffer.back = count;
  return buffer;
}

/// Names the topic of messages with that id, once.
void name(const Id & id, const char * topic)
{
  if (rospin_trace_name_publisher(id.data(), topic) < 0) {
    RCUTILS_LOG_ERROR_ONCE_NAMED("rospin", "a topic is missing in the trace: %s", rospin_last_error());
  }
}

/// Begins a publication of the publisher that rcl has in that place.
void begin_publication(const void * publisher)
{
  publication = Publication();
  publication.publisher = publisher;
  publication.at_ns = now_ns();
}

/// Names the topic of a publisher once, and forgets an earlier one in its place.
void name_publisher(const rmw_publisher_t * publisher, const Id & id)
{
  std::lock_guard<std::mutex> guard(known().mutex);
  const auto found = known().publishers.find(publisher);
  if (found != known().publishers.end()) {
    if (found->second == id) {
      return;
    }
    (void)rospin_trace_forget_publisher(found->second.data());
  }
  known().publishers[publisher] = id;
  name(id, publisher->topic_name);
}

/// Notes that the publication goes to the middleware, which gets it after this.
/**
 * This asks the middleware for the id, which it may not be asked for while it publishes: Zenoh's holds a lock then.
 */
void prepare_sent(const rcl_publisher_t * publisher)
{
  const rmw_publisher_t * of_middleware = rcl_publisher_get_rmw_handle(publisher);
  rmw_gid_t gid;
  if (of_middleware == nullptr) {
    rcl_reset_error();
    return;
  }
  if (rmw_get_gid_for_publisher(of_middleware, &gid) != RMW_RET_OK) {
    rmw_reset_error();
    return;
  }
  std::memcpy(publication.id.data(), gid.data, publication.id.size());
  publication.of_middleware = of_middleware;
  name_publisher(of_middleware, publication.id);
}

/// Records that the middleware gets a message with that time stamp. It may hold its locks.
void note_sent(const void * publisher, int64_t stamp)
{
  if (publication.of_middleware == publisher) {
    (void)rospin_trace_sent(publication.id.data(), static_cast<uint64_t>(stamp), publication.at_ns);
    publication = Publication();
  }
}

/// Counts a message in a buffer. It is a publication only if this thread is about one: a late subscription gets the
/// last messages of its topic, which were published before.
void note_enqueued(const void * place, uint64_t size, bool overwritten)
{
  std::lock_guard<std::mutex> guard(known().mutex);
  Buffer & buffer = buffer_at(known(), place, size - 1);
  if (publication.publisher != nullptr) {
    (void)rospin_trace_sent(buffer.id.data(), buffer.back, publication.at_ns);
  }
  buffer.back += 1;
  buffer.front += overwritten ? 1 : 0;
}

void note_dequeued(const void * place, uint64_t size)
{
  std::lock_guard<std::mutex> guard(known().mutex);
  Buffer & buffer = buffer_at(known(), place, size + 1);
  if (taken_topic != nullptr) {
    if (!buffer.is_named) {
      buffer.is_named = true;
      name(buffer.id, taken_topic->c_str());
    }
    (void)rospin_trace_received(buffer.id.data(), buffer.front);
  }
  buffer.front += 1;
}

/// Has the name of a protected function of subscriptions: true for a publisher whose messages also come within the
/// process. rclcpp discards them where they come from the middleware.
class Discards : public rclcpp::SubscriptionBase
{
public:
  static bool (rclcpp::SubscriptionBase::* from())(const rmw_gid_t *) const
  {
    return &Discards::matches_any_intra_process_publishers;
  }
};

/// Returns tracetools' function of that name, or null.
template<typename Function>
Function * next_function(const char * name, Function *)
{
  return reinterpret_cast<Function *>(dlsym(RTLD_NEXT, name));
}

}  // namespace

void note_taken(const rclcpp::SubscriptionBase & subscription, const rmw_message_info_t & info)
{
  if (rospin_trace_is_on() && !(subscription.*Discards::from())(&info.publisher_gid)) {
    note_taken_serialized(info);
  }
}

void note_taken_serialized(const rmw_message_info_t & info)
{
  if (!rospin_trace_is_on() || info.from_intra_process) {
    return;
  }
  (void)rospin_trace_received(info.publisher_gid.data, static_cast<uint64_t>(info.source_timestamp));
}

TakingFromProcess::TakingFromProcess(const std::string & topic)
{
  taken_topic = &topic;
}

TakingFromProcess::~TakingFromProcess()
{
  taken_topic = nullptr;
}

}  // namespace rospin

// The tracepoints. They are declared here, so that a ROS 2 without tracetools will do.

#define ROSPIN_NEXT(name, ...) \
  static auto * const next = rospin::next_function(#name, &name); \
  if (next != nullptr) { \
    next(__VA_ARGS__); \
  }

extern "C"
{

void ros_trace_rcl_publish(const void * publisher, const void * message);
void ros_trace_rmw_publish(const void * publisher, const void * message, int64_t stamp);
void ros_trace_rclcpp_intra_publish(const void * publisher, const void * message);
void ros_trace_rclcpp_construct_ring_buffer(const void * buffer, uint64_t capacity);
void ros_trace_rclcpp_ring_buffer_enqueue(const void * buffer, uint64_t index, uint64_t size, bool overwritten);
void ros_trace_rclcpp_ring_buffer_dequeue(const void * buffer, uint64_t index, uint64_t size);

void ros_trace_rcl_publish(const void * publisher, const void * message)
{
  if (rospin_trace_is_on()) {
    // It may have gone to this process before.
    if (rospin::publication.publisher != publisher) {
      rospin::begin_publication(publisher);
    }
    rospin::prepare_sent(static_cast<const rcl_publisher_t *>(publisher));
  }
  ROSPIN_NEXT(ros_trace_rcl_publish, publisher, message)
}

void ros_trace_rmw_publish(const void * publisher, const void * message, int64_t stamp)
{
  if (rospin_trace_is_on()) {
    rospin::note_sent(publisher, stamp);
  }
  ROSPIN_NEXT(ros_trace_rmw_publish, publisher, message, stamp)
}

void ros_trace_rclcpp_intra_publish(const void * publisher, const void * message)
{
  if (rospin_trace_is_on()) {
    rospin::begin_publication(publisher);
  }
  ROSPIN_NEXT(ros_trace_rclcpp_intra_publish, publisher, message)
}

void ros_trace_rclcpp_construct_ring_buffer(const void * buffer, uint64_t capacity)
{
  if (rospin_trace_is_on()) {
    // Messages that come into it before the next publication were published earlier.
    rospin::publication = rospin::Publication();
    std::lock_guard<std::mutex> guard(rospin::known().mutex);
    rospin::add_buffer(rospin::known(), buffer);
  }
  ROSPIN_NEXT(ros_trace_rclcpp_construct_ring_buffer, buffer, capacity)
}

void ros_trace_rclcpp_ring_buffer_enqueue(const void * buffer, uint64_t index, uint64_t size, bool overwritten)
{
  if (rospin_trace_is_on()) {
    rospin::note_enqueued(buffer, size, overwritten);
  }
  ROSPIN_NEXT(ros_trace_rclcpp_ring_buffer_enqueue, buffer, index, size, overwritten)
}

void ros_trace_rclcpp_ring_buffer_dequeue(const void * buffer, uint64_t index, uint64_t size)
{
  if (rospin_trace_is_on()) {
    rospin::note_dequeued(buffer, size);
  }
  ROSPIN_NEXT(ros_trace_rclcpp_ring_buffer_dequeue, buffer, index, size)
}

}  // extern "C"
