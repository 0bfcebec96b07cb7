#include "messages.hpp"

#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "publications.hpp"
#include "rcl/subscription.h"
#include "rclcpp/exceptions.hpp"
#include "rcutils/logging_macros.h"

namespace rospin
{

namespace
{

using rclcpp::ClientBase;
using rclcpp::ServiceBase;
using rclcpp::SubscriptionBase;
using rclcpp::Waitable;

/// A message that the subscription's callback gets as a C++ object.
class Message : public Item
{
public:
  /// Takes a message; null if there is none.
  static std::unique_ptr<Item> take(SubscriptionBase::SharedPtr subscription)
  {
    auto taken = std::make_unique<Message>();
    taken->subscription_ = std::move(subscription);
    taken->message_ = taken->subscription_->create_message();
    if (!taken->subscription_->take_type_erased(taken->message_.get(), taken->info_)) {
      return nullptr;
    }
    note_taken(*taken->subscription_, taken->info_.get_rmw_message_info());
    return taken;
  }

  ~Message() override
  {
    if (message_) {
      subscription_->return_message(message_);
    }
  }

  void run() override
  {
    subscription_->handle_message(message_, info_);
  }

private:
  SubscriptionBase::SharedPtr subscription_;
  std::shared_ptr<void> message_;
  rclcpp::MessageInfo info_;
};

/// A message that the subscription's callback gets as it came.
class SerializedMessage : public Item
{
public:
  static std::unique_ptr<Item> take(SubscriptionBase::SharedPtr subscription)
  {
    auto taken = std::make_unique<SerializedMessage>();
    taken->subscription_ = std::move(subscription);
    taken->message_ = taken->subscription_->create_serialized_message();
    if (!taken->subscription_->take_serialized(*taken->message_, taken->info_)) {
      return nullptr;
    }
    note_taken_serialized(taken->info_.get_rmw_message_info());
    return taken;
  }

  ~SerializedMessage() override
  {
    if (message_) {
      subscription_->return_serialized_message(message_);
    }
  }

  void run() override
  {
    subscription_->handle_serialized_message(message_, info_);
  }

private:
  SubscriptionBase::SharedPtr subscription_;
  std::shared_ptr<rclcpp::SerializedMessage> message_;
  rclcpp::MessageInfo info_;
};

/// A message in memory of the middleware's.
class LoanedMessage : public Item
{
public:
  static std::unique_ptr<Item> take(SubscriptionBase::SharedPtr subscription)
  {
    auto taken = std::make_unique<LoanedMessage>();
    taken->subscription_ = std::move(subscription);
    const rcl_subscription_t * handle = taken->subscription_->get_subscription_handle().get();
    rmw_message_info_t & info = taken->info_.get_rmw_message_info();
    const rcl_ret_t result = rcl_take_loaned_message(handle, &taken->message_, &info, nullptr);
    if (result == RCL_RET_SUBSCRIPTION_TAKE_FAILED) {
      return nullptr;
    }
    if (result != RCL_RET_OK) {
      rclcpp::exceptions::throw_from_rcl_error(result, "a loaned message could not be taken");
    }
    note_taken(*taken->subscription_, info);
    return taken;
  }

  ~LoanedMessage() override
  {
    if (message_ == nullptr) {
      return;
    }
    const rcl_subscription_t * handle = subscription_->get_subscription_handle().get();
    if (rcl_return_loaned_message_from_subscription(handle, message_) != RCL_RET_OK) {
      RCUTILS_LOG_ERROR_NAMED("rospin", "a loaned message could not be returned: %s", rcl_get_error_string().str);
      rcl_reset_error();
    }
  }

  void run() override
  {
    subscription_->handle_loaned_message(message_, info_);
  }

private:
  SubscriptionBase::SharedPtr subscription_;
  void * message_ = nullptr;
  rclcpp::MessageInfo info_;
};

/// A message of the same process, which a waitable of the subscription has.
class IntraProcessMessage : public Item
{
public:
  static std::unique_ptr<Item> take(Waitable::SharedPtr waitable, const std::string & topic)
  {
    auto taken = std::make_unique<IntraProcessMessage>();
    {
      const TakingFromProcess taking(topic);
      taken->data_ = waitable->take_data();
    }
    if (!taken->data_) {
      return nullptr;
    }
    taken->waitable_ = std::move(waitable);
    return taken;
  }

  void run() override
  {
    waitable_->execute(data_);
  }

private:
  Waitable::SharedPtr waitable_;
  std::shared_ptr<void> data_;
};

/// Takes a message in the form that the subscription's callback wants.
std::unique_ptr<Item> take_message(SubscriptionBase::SharedPtr subscription)
{
  switch (subscription->get_delivered_message_kind()) {
    case rclcpp::DeliveredMessageKind::ROS_MESSAGE:
      if (subscription->can_loan_messages()) {
        return LoanedMessage::take(std::move(subscription));
      }
      return Message::take(std::move(subscription));
    case rclcpp::DeliveredMessageKind::SERIALIZED_MESSAGE:
      return SerializedMessage::take(std::move(subscription));
    default:
      throw std::runtime_error("messages of this subscription have a form that rclcpp does not deliver");
  }
}

/// Has the middleware call `call` with each message.
/**
 * Not by the subscription's own function, whose end the middleware may not know of: it calls as long as anybody has the
 * rcl handle, such as the subscription's event handlers, and these may outlive the subscription on other threads.
 */
void call_on_message(SubscriptionBase & subscription, rcl_event_callback_t call, const void * data)
{
  const rcl_subscription_t * handle = subscription.get_subscription_handle().get();
  if (rcl_subscription_set_on_new_message_callback(handle, call, data) != RCL_RET_OK) {
    RCUTILS_LOG_ERROR_NAMED(
      "rospin", "`%s` cannot tell of messages: %s", subscription.get_topic_name(), rcl_get_error_string().str);
    rcl_reset_error();
  }
}

/// Messages of one topic, from other processes and from this one.
class Subscription : public Source
{
public:
  explicit Subscription(const SubscriptionBase::SharedPtr & subscription)
  : subscription_(subscription), topic_(subscription->get_topic_name()),
    intra_process_(intra_process_of(*subscription))
  {
  }

  /// Takes from either way in turn, so that neither waits for ever.
  Taken take() override
  {
    is_turn_of_intra_process_ = !is_turn_of_intra_process_;
    Taken taken = is_turn_of_intra_process_ ? take_intra_process() : take_inter_process();
    if (!taken.item) {
      taken = is_turn_of_intra_process_ ? take_inter_process() : take_intra_process();
    }
    taken.more = from_processes_->any() || from_process_->any();
    return taken;
  }

  void attach(const rospin_entity * entity) override
  {
    from_processes_->tell(entity);
    from_process_->tell(entity);
    if (const auto subscription = subscription_.lock()) {
      call_on_message(*subscription, arrived, from_processes_.get());
    }
    if (const auto waitable = intra_process_.lock()) {
      waitable->set_on_ready_callback([arrivals = from_process_](size_t count, int) {arrivals->add(count);});
    }
  }

  void detach() noexcept override
  {
    if (const auto subscription = subscription_.lock()) {
      call_on_message(*subscription, nullptr, nullptr);
    }
    if (const auto waitable = intra_process_.lock()) {
      waitable->clear_on_ready_callback();
    }
  }

  bool is_gone() const override
  {
    return subscription_.expired();
  }

private:
  static void arrived(const void * arrivals, size_t count)
  {
    static_cast<Arrivals *>(const_cast<void *>(arrivals))->add(count);
  }

  Taken take_inter_process()
  {
    return from_processes_->take([this]() {
               auto subscription = subscription_.lock();
               return subscription ? take_message(std::move(subscription)) : nullptr;
             });
  }

  Taken take_intra_process()
  {
    return from_process_->take([this]() {
               auto waitable = intra_process_.lock();
               return waitable ? IntraProcessMessage::take(std::move(waitable), topic_) : nullptr;
             });
  }

  const std::weak_ptr<SubscriptionBase> subscription_;
  const std::string topic_;
  const std::weak_ptr<Waitable> intra_process_;
  const std::shared_ptr<Arrivals> from_processes_ = Arrivals::for_late_callers();
  const std::shared_ptr<Arrivals> from_process_ = std::make_shared<Arrivals>();
  bool is_turn_of_intra_process_ = false;
};

/// A request to a service.
class Request : public Item
{
public:
  static std::unique_ptr<Item> take(ServiceBase::SharedPtr service)
  {
    auto taken = std::make_unique<Request>();
    taken->header_ = service->create_request_header();
    taken->request_ = service->create_request();
    if (!service->take_type_erased_request(taken->request_.get(), *taken->header_)) {
      return nullptr;
    }
    taken->service_ = std::move(service);
    return taken;
  }

  void run() override
  {
    service_->handle_request(header_, request_);
  }

private:
  ServiceBase::SharedPtr service_;
  std::shared_ptr<rmw_request_id_t> header_;
  std::shared_ptr<void> request_;
};

/// The response to a call of a client's.
class Response : public Item
{
public:
  static std::unique_ptr<Item> take(ClientBase::SharedPtr client)
  {
    auto taken = std::make_unique<Response>();
    taken->header_ = client->create_request_header();
    taken->response_ = client->create_response();
    if (!client->take_type_erased_response(taken->response_.get(), *taken->header_)) {
      return nullptr;
    }
    taken->client_ = std::move(client);
    return taken;
  }

  void run() override
  {
    client_->handle_response(header_, response_);
  }

private:
  ClientBase::SharedPtr client_;
  std::shared_ptr<rmw_request_id_t> header_;
  std::shared_ptr<void> response_;
};

/// Requests to a service, or responses to a client.
template<typename Of>
class Calls : public Source
{
public:
  /// A function of `Of`'s takes the function that is called when something came.
  using Listen = void (Of::*)(std::function<void(size_t)>);
  using Forget = void (Of::*)();
  using Take = std::unique_ptr<Item> (*)(std::shared_ptr<Of>);

  Calls(const std::shared_ptr<Of> & of, Listen listen, Forget forget, Take take)
  : of_(of), listen_(listen), forget_(forget), take_(take)
  {
  }

  void attach(const rospin_entity * entity) override
  {
    arrivals_->tell(entity);
    if (const auto of = of_.lock()) {
      ((*of).*listen_)([arrivals = arrivals_](size_t count) {arrivals->add(count);});
    }
  }

  void detach() noexcept override
  {
    if (const auto of = of_.lock()) {
      ((*of).*forget_)();
    }
  }

  bool is_gone() const override
  {
    return of_.expired();
  }

protected:
  Taken take() override
  {
    return arrivals_->take([this]() {
               auto of = of_.lock();
               return of ? take_(std::move(of)) : nullptr;
             });
  }

private:
  const std::weak_ptr<Of> of_;
  const Listen listen_;
  const Forget forget_;
  const Take take_;
  const std::shared_ptr<Arrivals> arrivals_ = std::make_shared<Arrivals>();
};

}  // namespace

std::shared_ptr<Source> source_of(const SubscriptionBase::SharedPtr & subscription)
{
  return std::make_shared<Subscription>(subscription);
}

std::shared_ptr<Source> source_of(const ServiceBase::SharedPtr & service)
{
  const Calls<ServiceBase>::Listen listen = &ServiceBase::set_on_new_request_callback;
  return std::make_shared<Calls<ServiceBase>>(
    service, listen, &ServiceBase::clear_on_new_request_callback, Request::take);
}

std::shared_ptr<Source> source_of(const ClientBase::SharedPtr & client)
{
  const Calls<ClientBase>::Listen listen = &ClientBase::set_on_new_response_callback;
  return std::make_shared<Calls<ClientBase>>(
    client, listen, &ClientBase::clear_on_new_response_callback, Response::take);
}

Waitable::SharedPtr intra_process_of(const SubscriptionBase & subscription)
{
  try {
    return subscription.get_intra_process_waitable();
  } catch (const std::exception &) {
    // The manager of intra-process messages has gone with its context.
    return nullptr;
  }
}

}  // namespace rospin
