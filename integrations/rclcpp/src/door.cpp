#include "door.hpp"

#include <cstdint>
#include <mutex>

namespace rospin
{

/// The innermost pass of this thread.
static thread_local const Door::Pass * innermost = nullptr;

Door::Pass::Pass(Door & door)
: door_(door), is_open_((door.state_.fetch_add(1) & CLOSED) == 0), outer_(innermost)
{
  innermost = this;
}

Door::Pass::~Pass()
{
  innermost = outer_;
  if ((door_.state_.fetch_sub(1) & CLOSED) != 0) {
    // Under the lock, so that a thread that is about to wait hears it.
    std::lock_guard<std::mutex> guard(door_.mutex_);
    door_.left_.notify_all();
  }
}

bool Door::Pass::is_open() const
{
  return is_open_;
}

void Door::close()
{
  state_.fetch_or(CLOSED);
}

void Door::wait()
{
  uint64_t own = 0;
  for (const Pass * pass = innermost; pass != nullptr; pass = pass->outer_) {
    own += &pass->door_ == this ? 1 : 0;
  }
  std::unique_lock<std::mutex> lock(mutex_);
  left_.wait(lock, [&]() {return (state_.load() & ~CLOSED) <= own;});
}

}  // namespace rospin
