#include "waitables.hpp"

#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace rospin
{

namespace
{

using rclcpp::Waitable;

/// Data of a waitable, such as a goal.
class WaitableItem : public Item
{
public:
  WaitableItem(Waitable::SharedPtr waitable, std::shared_ptr<void> data)
  : waitable_(std::move(waitable)), data_(std::move(data))
  {
  }

  void run() override
  {
    waitable_->execute(data_);
  }

private:
  const Waitable::SharedPtr waitable_;
  const std::shared_ptr<void> data_;
};

/// The parts of a waitable that have something, in the order in which they got it, with how much. A part is there once.
class Parts
{
public:
  void add(int part, size_t count)
  {
    std::lock_guard<std::mutex> guard(mutex_);
    for (Waiting & waiting : waiting_) {
      if (waiting.part == part) {
        waiting.count += count;
        return;
      }
    }
    waiting_.push_back({part, count});
  }

  /// Takes one of the first part, which goes to the end if it has more. Returns false if no part has any.
  bool pop(int & part)
  {
    std::lock_guard<std::mutex> guard(mutex_);
    if (waiting_.empty()) {
      return false;
    }
    Waiting first = waiting_.front();
    waiting_.pop_front();
    first.count -= 1;
    if (first.count > 0) {
      waiting_.push_back(first);
    }
    part = first.part;
    return true;
  }

private:
  struct Waiting
  {
    int part;
    size_t count;
  };

  std::mutex mutex_;
  std::deque<Waiting> waiting_;
};

/// The news of a waitable, from rclcpp.
struct Told
{
  Parts parts;
  Arrivals arrivals;
};

/// Returns the news of a waitable, which it has as long as it lives: rclcpp tells the next executor of later ones only.
std::shared_ptr<Told> told_of(const Waitable::SharedPtr & waitable)
{
  using All = std::map<std::weak_ptr<Waitable>, std::shared_ptr<Told>, std::owner_less<std::weak_ptr<Waitable>>>;
  // Never destroyed, since executors may be destroyed after `main`.
  static std::mutex & mutex = *new std::mutex;
  static All & all = *new All;
  std::lock_guard<std::mutex> guard(mutex);
  for (auto it = all.begin(); it != all.end(); ) {
    it = it->first.expired() ? all.erase(it) : std::next(it);
  }
  std::shared_ptr<Told> & told = all[waitable];
  if (!told) {
    told = std::make_shared<Told>();
  }
  return told;
}

class WaitableSource : public Source
{
public:
  explicit WaitableSource(const Waitable::SharedPtr & waitable)
  : waitable_(waitable), told_(told_of(waitable))
  {
  }

  void attach(const rospin_entity * entity) override
  {
    told_->arrivals.tell(entity);
    if (const auto waitable = waitable_.lock()) {
      waitable->set_on_ready_callback(
        [told = told_](size_t count, int part) {
          told->parts.add(part, count);
          told->arrivals.add(count);
        });
    }
  }

  void detach() noexcept override
  {
    if (const auto waitable = waitable_.lock()) {
      waitable->clear_on_ready_callback();
    }
  }

  bool is_gone() const override
  {
    return waitable_.expired();
  }

protected:
  Taken take() override
  {
    return told_->arrivals.take([this]() {return take_part();});
  }

private:
  /// Takes what a part has. No data is data, too: a guard condition has none.
  std::unique_ptr<Item> take_part()
  {
    auto waitable = waitable_.lock();
    if (!waitable) {
      return nullptr;
    }
    int part = 0;
    if (!told_->parts.pop(part)) {
      return nullptr;
    }
    auto data = waitable->take_data_by_entity_id(part);
    return std::make_unique<WaitableItem>(std::move(waitable), std::move(data));
  }

  const std::weak_ptr<Waitable> waitable_;
  const std::shared_ptr<Told> told_;
};

}  // namespace

std::shared_ptr<Source> source_of(const Waitable::SharedPtr & waitable)
{
  return std::make_shared<WaitableSource>(waitable);
}

}  // namespace rospin
