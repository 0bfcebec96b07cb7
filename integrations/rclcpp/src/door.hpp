// Doors: whoever removes a callback can wait until nobody runs it any more.
#ifndef DOOR_HPP_
#define DOOR_HPP_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace rospin
{

/// Door of a callback. Threads pass it to run the callback, until it is closed.
class Door
{
public:
  /// A thread's way through the door. It must be destroyed on the same thread.
  class Pass
  {
public:
    explicit Pass(Door & door);
    Pass(const Pass &) = delete;
    Pass & operator=(const Pass &) = delete;
    ~Pass();

    /// False if the door is closed: then the callback must not run.
    bool is_open() const;

private:
    friend class Door;

    Door & door_;
    const bool is_open_;
    /// The one that this thread is inside of.
    const Pass * const outer_;
  };

  /// Closes the door: nobody passes from now on.
  void close();
  /// Waits until all threads but this one have left. The door must be closed.
  void wait();

private:
  static constexpr uint64_t CLOSED = uint64_t{1} << 63;

  /// The number of passes, and CLOSED.
  std::atomic<uint64_t> state_{0};
  std::mutex mutex_;
  std::condition_variable left_;
};

}  // namespace rospin

#endif  // DOOR_HPP_
