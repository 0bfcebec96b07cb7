#include "source.hpp"

#include <cstdint>
#include <exception>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "process.hpp"
#include "rcutils/logging_macros.h"

namespace rospin
{

namespace
{

thread_local uint64_t runs = 0;

/// A source as rospin has it.
struct Data
{
  std::shared_ptr<Source> source;
  std::shared_ptr<Failure> failure;
  std::shared_ptr<Door> door;
};

/// Logs the exception that is being handled.
void log_exception(const char * doing)
{
  try {
    throw;
  } catch (const std::exception & exception) {
    RCUTILS_LOG_ERROR_NAMED("rospin", "%s: %s", doing, exception.what());
  } catch (...) {
    RCUTILS_LOG_ERROR_NAMED("rospin", "%s: an exception of an unknown type", doing);
  }
}

int32_t take(void * data, rospin_taken * taken)
{
  try {
    Taken result = static_cast<Data *>(data)->source->take_one();
    if (!result.item) {
      return ROSPIN_TAKE_EMPTY;
    }
    taken->item = result.item.release();
    return result.more ? ROSPIN_TAKE_MORE : ROSPIN_TAKE_LAST;
  } catch (...) {
    log_exception("an item could not be taken");
    return ROSPIN_TAKE_FAILED;
  }
}

/// Takes from a timer, which is never lost: it is due again by its own account.
int32_t take_tick(void * data, rospin_taken * taken)
{
  const int32_t result = take(data, taken);
  return result == ROSPIN_TAKE_FAILED ? ROSPIN_TAKE_EMPTY : result;
}

int32_t run(void * data, void * item)
{
  // It outlives `data` if the callback removes itself, and lets go of the item before the pass.
  const Data & of = *static_cast<Data *>(data);
  const Door::Pass pass(*of.door);
  const std::unique_ptr<Item> owned(static_cast<Item *>(item));
  runs += 1;
  if (!pass.is_open()) {
    return 0;
  }
  try {
    owned->run();
    return 0;
  } catch (...) {
    return of.failure->keep();
  }
}

int64_t next_due(void * data)
{
  try {
    return static_cast<Data *>(data)->source->next_due();
  } catch (...) {
    log_exception("the due time of a timer is unknown");
    return ROSPIN_NEVER;
  }
}

void drop(void * data)
{
  delete static_cast<Data *>(data);
}

}  // namespace

/// All failures by their numbers.
struct Failures
{
  std::mutex mutex;
  std::map<int32_t, std::weak_ptr<Failure>> by_number;
};

/// Returns the failures of the process. They are never destroyed, since executors may be destroyed after `main`.
static Failures & failures()
{
  static Failures & failures = *new Failures;
  return failures;
}

std::shared_ptr<Failure> Failure::create()
{
  const auto failure = std::make_shared<Failure>();
  std::lock_guard<std::mutex> guard(failures().mutex);
  auto & all = failures().by_number;
  for (auto it = all.begin(); it != all.end(); ) {
    it = it->second.expired() ? all.erase(it) : std::next(it);
  }
  failure->number_ = 1;
  while (all.count(failure->number_) > 0) {
    failure->number_ += 1;
  }
  all[failure->number_] = failure;
  return failure;
}

void Failure::rethrow(int32_t number)
{
  std::shared_ptr<Failure> failure;
  {
    std::lock_guard<std::mutex> guard(failures().mutex);
    const auto found = failures().by_number.find(number);
    if (found != failures().by_number.end()) {
      failure = found->second.lock();
    }
  }
  if (failure) {
    failure->rethrow();
  }
}

int32_t Failure::keep()
{
  std::lock_guard<std::mutex> guard(mutex_);
  if (first_) {
    log_exception("a callback failed after another one, whose exception ends the spin");
  } else {
    first_ = std::current_exception();
  }
  return number_;
}

void Failure::rethrow()
{
  std::exception_ptr kept;
  {
    std::lock_guard<std::mutex> guard(mutex_);
    kept = std::exchange(first_, nullptr);
  }
  if (kept) {
    std::rethrow_exception(kept);
  }
}

/// Memory of arrivals that nobody uses now, for the next ones.
struct Spare
{
  std::mutex mutex;
  std::vector<Arrivals *> arrivals;
};

/// Returns the spare memory of the process. It is never destroyed, since threads of the middleware may outlive `main`.
static Spare & spare()
{
  static Spare & spare = *new Spare;
  return spare;
}

static void give_back(Arrivals * arrivals)
{
  arrivals->tell(nullptr);
  std::lock_guard<std::mutex> guard(spare().mutex);
  spare().arrivals.push_back(arrivals);
}

std::shared_ptr<Arrivals> Arrivals::for_late_callers()
{
  std::lock_guard<std::mutex> guard(spare().mutex);
  auto & left = spare().arrivals;
  if (left.empty()) {
    return {new Arrivals, give_back};
  }
  Arrivals * arrivals = left.back();
  left.pop_back();
  arrivals->count_.store(0);
  arrivals->looks_.store(true);
  return {arrivals, give_back};
}

Arrivals::~Arrivals()
{
  rospin_notifier_destroy(notifier_);
}

void Arrivals::tell(const rospin_entity * entity)
{
  rospin_notifier * notifier = nullptr;
  if (entity != nullptr) {
    check(rospin_notifier_create(entity, &notifier), "creating a notifier");
  }
  {
    std::lock_guard<std::mutex> guard(mutex_);
    std::swap(notifier, notifier_);
  }
  rospin_notifier_destroy(notifier);
}

void Arrivals::add(size_t count)
{
  count_.fetch_add(count);
  std::lock_guard<std::mutex> guard(mutex_);
  if (notifier_ != nullptr) {
    rospin_notifier_notify(notifier_);
  }
}

bool Arrivals::any() const
{
  return count_.load() > 0 || looks_.load();
}

Taken Source::take_one()
{
  std::lock_guard<std::mutex> guard(taking_);
  return take();
}

int64_t Source::next_due()
{
  return ROSPIN_NEVER;
}

int64_t Source::period() const
{
  return 0;
}

uint64_t runs_of_thread()
{
  return runs;
}

rospin_source source_for_rospin(
  std::shared_ptr<Source> source, std::shared_ptr<Failure> failure, std::shared_ptr<Door> door, bool is_timer)
{
  rospin_source functions = {};
  functions.struct_size = sizeof(functions);
  functions.data = new Data{std::move(source), std::move(failure), std::move(door)};
  functions.take = is_timer ? take_tick : take;
  functions.run = run;
  functions.next_due = is_timer ? next_due : nullptr;
  functions.drop = drop;
  return functions;
}

}  // namespace rospin
