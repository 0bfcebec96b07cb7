#include "timers.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "rcl/time.h"
#include "rcl/timer.h"
#include "rclcpp/exceptions.hpp"

namespace rospin
{

namespace
{

using rclcpp::TimerBase;

/// The longest time for which a timer on a clock that can be set trusts what it reckoned.
constexpr int64_t TRUST_NS = 1'000'000'000;

/// The tick of a timer.
class Tick : public Item
{
public:
  Tick(TimerBase::SharedPtr timer, std::shared_ptr<void> data)
  : timer_(std::move(timer)), data_(std::move(data))
  {
  }

  void run() override
  {
    timer_->execute_callback(data_);
  }

private:
  const TimerBase::SharedPtr timer_;
  const std::shared_ptr<void> data_;
};

/// The clock of a timer, which its class keeps for those that derive from it.
class ClockOf : public TimerBase
{
public:
  static rclcpp::Clock::SharedPtr get(TimerBase & timer)
  {
    return timer.*(&ClockOf::clock_);
  }
};

int64_t now_of(rcl_clock_t * clock)
{
  int64_t now = 0;
  const rcl_ret_t result = rcl_clock_get_now(clock, &now);
  if (result != RCL_RET_OK) {
    rclcpp::exceptions::throw_from_rcl_error(result, "the time of a timer's clock is unknown");
  }
  return now;
}

/// True if the clock stands still until somebody sets it, as in simulation.
bool is_driven(rcl_clock_t * clock)
{
  bool is_enabled = false;
  if (clock->type != RCL_ROS_TIME || rcl_is_enabled_ros_time_override(clock, &is_enabled) != RCL_RET_OK) {
    return false;
  }
  return is_enabled;
}

class TimerSource : public Source
{
public:
  TimerSource(const TimerBase::SharedPtr & timer, std::shared_ptr<const rospin_context> context)
  : timer_(timer), clock_(ClockOf::get(*timer)), handle_(timer->get_timer_handle()), context_(std::move(context))
  {
    is_on_our_clock_ = clock_->get_clock_type() == RCL_STEADY_TIME && reads_our_clock();
  }

  Taken take() override
  {
    auto timer = timer_.lock();
    // It may have been cancelled or reset, or its clock set back.
    if (!timer || !timer->is_ready()) {
      return {};
    }
    auto data = timer->call();
    if (!data) {
      return {};
    }
    return {std::make_unique<Tick>(std::move(timer), std::move(data)), false};
  }

  int64_t next_due() override
  {
    int64_t due = 0;
    // Not timer_.lock(): this may run under the lock of the clock, which the end of a timer wants. detach() lets this
    // handle go, after the last call under that lock.
    const auto handle = handle_now();
    if (!handle) {
      return ROSPIN_NEVER;
    }
    const rcl_ret_t result = rcl_timer_get_next_call_time(handle.get(), &due);
    if (timer_.expired() || result == RCL_RET_TIMER_CANCELED) {
      rcl_reset_error();
      return ROSPIN_NEVER;
    }
    if (result != RCL_RET_OK) {
      rclcpp::exceptions::throw_from_rcl_error(result, "a timer does not know when it is due");
    }
    return is_on_our_clock_ ? due : on_our_clock(due);
  }

  /// A clock that somebody drives has seconds of its own.
  int64_t period() const override
  {
    int64_t period = 0;
    const auto handle = handle_now();
    if (!handle || is_driven(clock_->get_clock_handle())) {
      return 0;
    }
    const rcl_ret_t result = rcl_timer_get_period(handle.get(), &period);
    if (result != RCL_RET_OK) {
      rclcpp::exceptions::throw_from_rcl_error(result, "a timer does not know its period");
    }
    return period;
  }

  void attach(const rospin_entity * entity) override
  {
    // Whatever happens: the earlier entity is destroyed next.
    jumps_.reset();
    const auto timer = timer_.lock();
    if (!timer) {
      return;
    }
    timer->set_on_reset_callback([entity](size_t) {(void)rospin_timer_update(entity);});
    if (clock_->get_clock_type() == RCL_ROS_TIME) {
      const rcl_jump_threshold_t any_step = {true, {1}, {-1}};
      jumps_ = clock_->create_jump_callback(
        nullptr, [entity](const rcl_time_jump_t &) {(void)rospin_timer_update(entity);}, any_step);
    }
  }

  void detach() noexcept override
  {
    jumps_.reset();
    if (const auto timer = timer_.lock()) {
      timer->clear_on_reset_callback();
    }
    // The end of rcl's timer takes the lock of its clock, and that of this source may come under it. So it ends here.
    std::shared_ptr<const rcl_timer_t> handle;
    {
      std::lock_guard<std::mutex> guard(mutex_);
      std::swap(handle, handle_);
    }
  }

  bool is_gone() const override
  {
    return timer_.expired();
  }

private:
  /// Returns rcl's timer; none once the source is detached.
  std::shared_ptr<const rcl_timer_t> handle_now() const
  {
    std::lock_guard<std::mutex> guard(mutex_);
    return handle_;
  }

  /// True if the timer's steady clock and rospin's are the same one of the kernel's.
  bool reads_our_clock() const
  {
    const int64_t before = rospin_context_now(context_.get());
    const int64_t now = now_of(clock_->get_clock_handle());
    return before <= now && now <= rospin_context_now(context_.get());
  }

  /// Returns the time on rospin's clock at which the timer's clock should show `due`.
  int64_t on_our_clock(int64_t due)
  {
    rcl_clock_t * clock = clock_->get_clock_handle();
    const int64_t left = due - now_of(clock);
    const int64_t now = rospin_context_now(context_.get());
    if (is_driven(clock)) {
      return since_when(due, left <= 0 ? now : ROSPIN_NEVER);
    }
    return now + (clock->type == RCL_STEADY_TIME ? left : std::min(left, TRUST_NS));
  }

  /// Returns since when the timer is due: `now`, which may be ROSPIN_NEVER, unless it was due before. Its place in the
  /// order stays, although it is asked each time that the clock is set.
  int64_t since_when(int64_t due, int64_t now)
  {
    std::lock_guard<std::mutex> guard(mutex_);
    if (passed_due_ != due || passed_at_ == ROSPIN_NEVER || now == ROSPIN_NEVER) {
      passed_due_ = due;
      passed_at_ = now;
    }
    return passed_at_;
  }

  const std::weak_ptr<TimerBase> timer_;
  const rclcpp::Clock::SharedPtr clock_;
  /// Protects what may change.
  mutable std::mutex mutex_;
  std::shared_ptr<const rcl_timer_t> handle_;
  /// The last due time on a clock that somebody drives, and when it was noticed on rospin's clock that it had passed.
  int64_t passed_due_ = 0;
  int64_t passed_at_ = ROSPIN_NEVER;
  const std::shared_ptr<const rospin_context> context_;
  bool is_on_our_clock_ = false;
  rclcpp::JumpHandler::SharedPtr jumps_;
};

}  // namespace

std::shared_ptr<Source> source_of(const TimerBase::SharedPtr & timer, std::shared_ptr<const rospin_context> context)
{
  return std::make_shared<TimerSource>(timer, std::move(context));
}

}  // namespace rospin
