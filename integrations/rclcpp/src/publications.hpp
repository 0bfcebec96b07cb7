// Publications in traces: which callback has published a message, and which one took it.
#ifndef PUBLICATIONS_HPP_
#define PUBLICATIONS_HPP_

#include <string>

#include "rclcpp/rclcpp.hpp"

namespace rospin
{

/// Records that this thread has taken a message of the middleware's, if there is a recording and the subscription does
/// not discard it.
void note_taken(const rclcpp::SubscriptionBase & subscription, const rmw_message_info_t & info);
/// The same for a serialized message, which is not discarded.
void note_taken_serialized(const rmw_message_info_t & info);

/// While there is one, this thread takes messages of the same process from that topic.
class TakingFromProcess
{
public:
  explicit TakingFromProcess(const std::string & topic);
  TakingFromProcess(const TakingFromProcess &) = delete;
  TakingFromProcess & operator=(const TakingFromProcess &) = delete;
  ~TakingFromProcess();
};

}  // namespace rospin

#endif  // PUBLICATIONS_HPP_
