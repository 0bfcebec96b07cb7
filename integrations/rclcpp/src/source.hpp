// Sources: rospin takes from them and runs what it took, one for each callback of rclcpp.
#ifndef SOURCE_HPP_
#define SOURCE_HPP_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>

#include "door.hpp"
#include "rospin.h"

namespace rospin
{

/// The first exception that left a callback of an executor's groups, until a spin throws it.
/**
 * That may be the spin of another executor, to which a deployment file has moved a group. So the status with which a
 * callback ends the spin is the number of a failure.
 */
class Failure
{
public:
  static std::shared_ptr<Failure> create();
  /// Keeps the exception that is being handled, and returns its number. A later one is logged instead.
  int32_t keep();
  /// Throws the exception if there is one.
  void rethrow();
  /// Throws the exception of that number if there is one.
  static void rethrow(int32_t number);

private:
  int32_t number_ = 0;
  std::mutex mutex_;
  std::exception_ptr first_;
};

/// Something that was taken: a message, a request, a response, or the tick of a timer, with its callback.
class Item
{
public:
  virtual ~Item() = default;
  /// Runs the callback, which may throw.
  virtual void run() = 0;
};

/// The result of a take.
struct Taken
{
  /// None if there was nothing to take.
  std::unique_ptr<Item> item;
  /// True if more may be left.
  bool more = false;
};

/// The number of items that came and were not taken yet. Any thread of the middleware counts, and tells the executor.
/**
 * There may be some at the beginning that nobody counts any more, because an earlier executor was told of them. So it
 * looks until a take has found nothing.
 */
class Arrivals
{
public:
  Arrivals() = default;
  Arrivals(const Arrivals &) = delete;
  Arrivals & operator=(const Arrivals &) = delete;
  ~Arrivals();

  /// Returns one whose memory is never freed, but used again: for callers that may be late.
  /**
   * A late call counts for the one that has the memory then. That looks, and finds nothing.
   */
  static std::shared_ptr<Arrivals> for_late_callers();

  /// Sets the entity that is told. It may be destroyed while it is told. None: nobody is told.
  void tell(const rospin_entity * entity);
  /// Counts items that came, and tells the executor.
  void add(size_t count);
  /// True if there are any.
  bool any() const;

  /// Takes an item that `take` returns, if any came.
  /**
   * A null item means that the rest of those that were counted has made room for later ones. Calls must not overlap.
   */
  template<typename Take>
  Taken take(Take && take)
  {
    const size_t count = count_.load();
    if (count == 0 && !looks_.load()) {
      return {};
    }
    std::unique_ptr<Item> item;
    try {
      item = take();
    } catch (...) {
      // Tried again only for those that came: it may fail each time.
      looks_.store(looks_.load() && count > 0);
      forget(std::min<size_t>(count, 1));
      throw;
    }
    if (!item) {
      looks_.store(false);
      forget(count);
      return {nullptr, any()};
    }
    forget(std::min<size_t>(count, 1));
    return {std::move(item), any()};
  }

private:
  void forget(size_t count)
  {
    count_.fetch_sub(count);
  }

  /// True until a take has found nothing.
  std::atomic<bool> looks_{true};
  std::atomic<size_t> count_{0};
  std::mutex mutex_;
  rospin_notifier * notifier_ = nullptr;
};

/// The callback of one subscription, timer, service, client or waitable. It keeps none of them alive.
class Source
{
public:
  virtual ~Source() = default;

  /// Takes one item without blocking. Any thread may call it.
  Taken take_one();
  /// Of a timer: returns when it is next due, on rospin's clock. Asked after each take, on any thread.
  virtual int64_t next_due();
  /// Of a timer: returns the time between two ticks; 0 for everything else.
  virtual int64_t period() const;
  /// Has rclcpp tell this entity of what comes from now on, in place of an earlier one.
  virtual void attach(const rospin_entity * entity) = 0;
  /// Ends that. No call of rclcpp's is under way any more when this returns.
  virtual void detach() noexcept = 0;
  /// True once rclcpp's object is gone.
  virtual bool is_gone() const = 0;

protected:
  /// Takes one item without blocking. Calls never overlap.
  virtual Taken take() = 0;

private:
  /// An entity of rospin's does not take twice at once, but the one that takes its place may.
  std::mutex taking_;
};

/// Returns the number of callbacks that this thread has run.
uint64_t runs_of_thread();

/// Returns the functions and the data by which rospin reaches the source. An exception of its callback goes to
/// `failure`. The callback runs behind the door.
/**
 * The caller must create an entity with it, which destroys the data.
 */
rospin_source source_for_rospin(
  std::shared_ptr<Source> source, std::shared_ptr<Failure> failure, std::shared_ptr<Door> door,
  bool is_timer);

}  // namespace rospin

#endif  // SOURCE_HPP_
