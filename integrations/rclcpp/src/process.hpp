// Shared by all executors of the process: rospin's context, its trace and its log.
#ifndef PROCESS_HPP_
#define PROCESS_HPP_

#include <memory>
#include <string>

#include "rospin.h"

namespace rospin
{

/// Throws the message of rospin's last error if `status` is one.
void check(rospin_status status, const std::string & doing);

/// Returns the context of the process, with the deployment that the environment names. It lives as long as anyone has
/// it. If it is created now, the deployment may name what is loaded later if `loads_later` is true.
/**
 * \throw std::runtime_error if a deployment file is invalid
 */
std::shared_ptr<rospin_context> context_of_process(bool loads_later);

}  // namespace rospin

#endif  // PROCESS_HPP_
