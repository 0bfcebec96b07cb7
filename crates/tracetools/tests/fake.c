/* A libtracetools that appends each call to the file LOG: the tracepoint, and its arguments. With EMPTY it has no tracepoints. */
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void note (const char *format, ...)
{
  FILE *file = fopen (LOG, "a");
  va_list arguments;
  if (file == NULL)
    abort ();
  va_start (arguments, format);
  vfprintf (file, format, arguments);
  va_end (arguments);
  fputc ('\n', file);
  fclose (file);
}

typedef const void *address;

bool ros_trace_compile_status (void) 
{
#ifdef EMPTY
  return false;
#else
  return true;
#endif
}
void ros_trace_rcl_init (address context) { note ("rcl_init %p", context); }
void ros_trace_rcl_node_init (address node, address rmw, const char *name, const char *space) { note ("rcl_node_init %p %p %s %s", node, rmw, name, space); }
void ros_trace_rmw_publisher_init (address rmw, const uint8_t *id) { note ("rmw_publisher_init %p %d", rmw, id[23]); }
void ros_trace_rcl_publisher_init (address of, address node, address rmw, const char *topic, size_t depth) { note ("rcl_publisher_init %p %p %p %s %zu", of, node, rmw, topic, depth); }
void ros_trace_rclcpp_publish (address of, address message) { note ("rclcpp_publish %p %p", of, message); }
void ros_trace_rcl_publish (address of, address message) { note ("rcl_publish %p %p", of, message); }
void ros_trace_rclcpp_intra_publish (address of, address message) { note ("rclcpp_intra_publish %p %p", of, message); }
void ros_trace_rcl_subscription_init (address of, address node, address rmw, const char *topic, size_t depth) { note ("rcl_subscription_init %p %p %p %s %zu", of, node, rmw, topic, depth); }
void ros_trace_rclcpp_subscription_init (address of, address subscription) { note ("rclcpp_subscription_init %p %p", of, subscription); }
void ros_trace_rclcpp_subscription_callback_added (address subscription, address callback) { note ("rclcpp_subscription_callback_added %p %p", subscription, callback); }
void ros_trace_rmw_take (address rmw, address message, int64_t published, bool taken) { note ("rmw_take %p %p %lld %d", rmw, message, (long long) published, taken); }
void ros_trace_rcl_take (address message) { note ("rcl_take %p", message); }
void ros_trace_rclcpp_take (address message) { note ("rclcpp_take %p", message); }
void ros_trace_rcl_service_init (address of, address node, address rmw, const char *service) { note ("rcl_service_init %p %p %p %s", of, node, rmw, service); }
void ros_trace_rclcpp_service_callback_added (address of, address callback) { note ("rclcpp_service_callback_added %p %p", of, callback); }
void ros_trace_rcl_client_init (address of, address node, address rmw, const char *service) { note ("rcl_client_init %p %p %p %s", of, node, rmw, service); }
void ros_trace_rcl_timer_init (address of, int64_t period) { note ("rcl_timer_init %p %lld", of, (long long) period); }
void ros_trace_rclcpp_timer_callback_added (address of, address callback) { note ("rclcpp_timer_callback_added %p %p", of, callback); }
void ros_trace_rclcpp_timer_link_node (address of, address node) { note ("rclcpp_timer_link_node %p %p", of, node); }
void ros_trace_rclcpp_callback_register (address callback, const char *symbol) { note ("rclcpp_callback_register %p %s", callback, symbol); }
void ros_trace_callback_start (address callback, bool is_intra_process) { note ("callback_start %p %d", callback, is_intra_process); }
void ros_trace_callback_end (address callback) { note ("callback_end %p", callback); }
void ros_trace_rclcpp_ipb_to_subscription (address buffer, address subscription) { note ("rclcpp_ipb_to_subscription %p %p", buffer, subscription); }
