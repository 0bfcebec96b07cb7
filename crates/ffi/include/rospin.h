/*
 * rospin's engine for C, and for every language that can call C.
 *
 * An executor runs callbacks on its threads, in the order of a policy. Callbacks belong to groups. An entity is what
 * becomes ready: it has a source, which notifies and is taken from, and a function that runs for each item.
 *
 *   rospin_context -> rospin_executor -> rospin_group -> rospin_entity
 *
 * Rules that hold everywhere:
 *
 * - Handles. A `_create` function gives a handle, and its `_destroy` function gives it up; NULL is allowed there.
 *   Handles may be destroyed in any order, from any thread and from callbacks. A handle must not be used while or after
 *   it is destroyed. Where handles are expected that must not be NULL, NULL is ROSPIN_ERROR_INVALID, or nothing
 *   happens.
 * - Threads. All functions may be called from any thread at the same time, and from callbacks, unless they say
 *   otherwise.
 * - Status. Functions that can fail return a rospin_status. An error is below zero, and rospin_last_error() then says
 *   why and what to do. Results are written only if there is no error.
 * - Panics and exceptions. No panic leaves rospin. No exception may leave a function of the caller: catch it, keep it,
 *   and return a status from `run`, with which the spin ends.
 * - Options. Structs of options begin with `struct_size`, which is their sizeof: so programs that were compiled with an
 *   older header keep working. Zero is the default of every other field: `= {sizeof(rospin_group_options)}` is complete
 *   but for a name.
 * - Text is UTF-8, ends with a zero, and is copied.
 * - Times are in nanoseconds. Time points are on the steady clock, CLOCK_MONOTONIC, which rospin_context_now() reads.
 *
 * Made of the Rust sources: change those.
 */

#ifndef ROSPIN_H
#define ROSPIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * The version of this interface. Within one version, functions, codes, and fields at the end of structs are only
 * added.
 */
#define ROSPIN_ABI_VERSION 1

/**
 * It worked. Of a spin: what its options ask for is done.
 */
#define ROSPIN_OK 0

/**
 * The spin ended because the executor was halted.
 */
#define ROSPIN_HALTED 1

/**
 * The spin ended because its timeout had passed.
 */
#define ROSPIN_TIMEOUT 2

/**
 * The spin ended because a callback's `run` returned a status of its own.
 */
#define ROSPIN_STOPPED 3

/**
 * An argument is invalid: a NULL, a text that is not UTF-8, an unknown value, a name that is missing.
 */
#define ROSPIN_ERROR_INVALID -1

/**
 * The executor spins already.
 */
#define ROSPIN_ERROR_SPINNING -2

/**
 * The group was removed, or its executor destroyed.
 */
#define ROSPIN_ERROR_GONE -3

/**
 * A deployment file cannot be read, is invalid, or does not fit the program.
 */
#define ROSPIN_ERROR_DEPLOYMENT -4

/**
 * The operating system refused something: a thread, a setting of a thread, a file, a file descriptor.
 */
#define ROSPIN_ERROR_SYSTEM -5

/**
 * Something panicked inside rospin.
 */
#define ROSPIN_ERROR_PANIC -6

/**
 * The time point of what is never due, and the longest duration.
 */
#define ROSPIN_NEVER INT64_MAX

/**
 * Level of a log message: an error.
 */
#define ROSPIN_LOG_ERROR 1

/**
 * Level of a log message: a warning.
 */
#define ROSPIN_LOG_WARN 2

/**
 * Level of a log message: an information.
 */
#define ROSPIN_LOG_INFO 3

/**
 * Level of a log message: for debugging.
 */
#define ROSPIN_LOG_DEBUG 4

/**
 * Level of a log message: for debugging of rospin itself.
 */
#define ROSPIN_LOG_TRACE 5

/**
 * Mode of a spin: until the executor is halted. All threads run callbacks.
 */
#define ROSPIN_SPIN_UNTIL_HALTED 0

/**
 * Mode of a spin: runs one callback. Waits for one if none is ready, up to the timeout. On the calling thread only.
 */
#define ROSPIN_SPIN_ONCE 1

/**
 * Mode of a spin: runs as many callbacks as are ready when it begins, in the policy's order. Does not wait. On the
 * calling thread only.
 */
#define ROSPIN_SPIN_SOME 2

/**
 * Mode of a spin: runs what is ready, and what becomes ready meanwhile, until nothing is ready. Does not wait. On the
 * calling thread only.
 */
#define ROSPIN_SPIN_ALL 3

/**
 * `take` found no item. That is no error, since notifications may be spurious. The source will notify.
 */
#define ROSPIN_TAKE_EMPTY 0

/**
 * `take` took an item, and more may be left: the executor will try again.
 */
#define ROSPIN_TAKE_MORE 1

/**
 * `take` took an item, and none is left: the source will notify of the next one.
 */
#define ROSPIN_TAKE_LAST 2

/**
 * `take` took an item, and one is left that arrived at rospin_taken.next_arrival_ns.
 */
#define ROSPIN_TAKE_NEXT 3

/**
 * The source has ended. It is not called again, and its entity is removed. The handle must still be destroyed. For
 * timers, see rospin_timer_create().
 */
#define ROSPIN_TAKE_CLOSED 4

/**
 * An item was there, could not be taken, and is lost. It is counted and logged. More may be left. For timers, see
 * rospin_timer_create().
 */
#define ROSPIN_TAKE_FAILED 5

/**
 * Kind of an entity, for policies and traces: a timer.
 */
#define ROSPIN_KIND_TIMER 0

/**
 * Kind of an entity, for policies and traces: a subscription.
 */
#define ROSPIN_KIND_SUBSCRIPTION 1

/**
 * Kind of an entity, for policies and traces: a service.
 */
#define ROSPIN_KIND_SERVICE 2

/**
 * Kind of an entity, for policies and traces: a client.
 */
#define ROSPIN_KIND_CLIENT 3

/**
 * Kind of an entity, for policies and traces: anything else.
 */
#define ROSPIN_KIND_WAITABLE 4

/**
 * A file descriptor is ready: there is something to read, a connection to accept, or the other end is closed.
 */
#define ROSPIN_FD_READABLE 1

/**
 * A file descriptor is ready: there is room to write.
 */
#define ROSPIN_FD_WRITABLE 2

/**
 * A file descriptor is ready: there is an exceptional condition (POLLPRI).
 */
#define ROSPIN_FD_PRIORITY 4

/**
 * A file descriptor is ready: there is an error. It is always watched for.
 */
#define ROSPIN_FD_ERROR 8

/**
 * A file descriptor is ready: the other end is closed. It is always watched for.
 */
#define ROSPIN_FD_HANGUP 16

/**
 * Clock that stands still until it is moved, for tests.
 */
typedef struct rospin_clock rospin_clock;

/**
 * Context: clocks, deployment and priorities that executors have in common.
 */
typedef struct rospin_context rospin_context;

/**
 * Entity: what becomes ready and runs.
 */
typedef struct rospin_entity rospin_entity;

/**
 * Executor: threads and a policy.
 */
typedef struct rospin_executor rospin_executor;

/**
 * Group of callbacks that exclude each other, or run at once.
 */
typedef struct rospin_group rospin_group;

/**
 * Notifier of an entity, which may outlive it and does nothing then: for middlewares whose threads may notify while
 * the entity is destroyed.
 */
typedef struct rospin_notifier rospin_notifier;

/**
 * The result of a call: ROSPIN_OK, another end of a spin, or an error, which is below zero.
 */
typedef int32_t rospin_status;

/**
 * Chain of entities, by their names, from the source to the actuator.
 */
typedef struct {
  /**
   * The name of the chain.
   */
  const char *name;
  /**
   * Callbacks of a chain with a larger number are more urgent.
   */
  uint32_t criticality;
  /**
   * The names of the entities, in order.
   */
  const char *const *entities;
  /**
   * The number of the entities.
   */
  size_t entities_count;
} rospin_chain;

/**
 * Options of a context.
 */
typedef struct {
  /**
   * sizeof(rospin_context_options).
   */
  size_t struct_size;
  /**
   * Deployment files: which groups are on which executors, priorities, cores and OS scheduling, by names.
   */
  const char *const *deployment_files;
  /**
   * The number of deployment files.
   */
  size_t deployment_files_count;
  /**
   * A file that a template of a deployment file is written to when an executor begins to spin for the first time.
   */
  const char *template_file;
  /**
   * True: files that are not given here are those of the environment. ROSPIN_DEPLOYMENT names deployment files,
   * separated by colons, and ROSPIN_DEPLOYMENT_TEMPLATE the file for a template.
   */
  bool from_env;
  /**
   * Chains give priorities to entities that have none of their own: the later callbacks of a chain are more urgent.
   */
  const rospin_chain *chains;
  /**
   * The number of chains.
   */
  size_t chains_count;
  /**
   * A clock for tests. NULL: the kernel's clocks.
   */
  const rospin_clock *manual_clock;
  /**
   * True: the program loads parts of itself while it runs. Then a deployment file may name what is not there yet.
   */
  bool loads_later;
} rospin_context_options;

/**
 * Options of an executor.
 */
typedef struct {
  /**
   * sizeof(rospin_executor_options).
   */
  size_t struct_size;
  /**
   * The name, which must be given. Deployment files name the executor by it, and threads have it.
   */
  const char *name;
  /**
   * The policy, which decides what runs next: "fixed-priority" (the default; first in, first out among equals),
   * "fifo", "edf", "wait-set-e1" or "wait-set-e2".
   */
  const char *policy;
  /**
   * The number of threads that run callbacks, including the one that spins. 0 means 1; UINT16_MAX means one for each
   * core.
   */
  uint16_t threads;
  /**
   * The time for which an idle thread polls for work before it sleeps. ROSPIN_NEVER: always.
   */
  int64_t busy_poll_ns;
} rospin_executor_options;

/**
 * Options of a spin.
 */
typedef struct {
  /**
   * sizeof(rospin_spin_options).
   */
  size_t struct_size;
  /**
   * One of ROSPIN_SPIN_...
   */
  int32_t mode;
  /**
   * True: the spin ends with ROSPIN_TIMEOUT after `timeout_ns`, after the callback that is running.
   */
  bool has_timeout;
  /**
   * The timeout. Zero is one, too: a spin for one callback then does not wait for it.
   */
  int64_t timeout_ns;
  /**
   * If given, the spin ends with ROSPIN_OK as soon as this function returns true. It is called on the spinning
   * thread: at the beginning, after callbacks, and after rospin_executor_check(). Only for ROSPIN_SPIN_UNTIL_HALTED.
   */
  bool (*until)(void *until_data);
  /**
   * Passed to `until`.
   */
  void *until_data;
  /**
   * If given, receives the status with which a callback's `run` ended the spin, with ROSPIN_STOPPED.
   */
  int32_t *stop_status;
} rospin_spin_options;

/**
 * Options of a group.
 */
typedef struct {
  /**
   * sizeof(rospin_group_options).
   */
  size_t struct_size;
  /**
   * The name, which must be given.
   */
  const char *name;
  /**
   * The full name of the node that the group belongs to, such as "/robot1/camera". NULL: none.
   */
  const char *node;
  /**
   * False: one callback of the group runs at a time. True: any number runs at once.
   */
  bool is_reentrant;
} rospin_group_options;

/**
 * Options of an entity.
 */
typedef struct {
  /**
   * sizeof(rospin_entity_options).
   */
  size_t struct_size;
  /**
   * The full name, such as "robot1/camera/image". Must be given: deployment files, chains and traces use it.
   */
  const char *name;
  /**
   * One of ROSPIN_KIND_... Ignored for timers and file descriptors.
   */
  int32_t kind;
  /**
   * True: the entity has this priority, unless a deployment file gives it another one.
   */
  bool has_priority;
  /**
   * The priority under "fixed-priority". Larger is more urgent.
   */
  uint32_t priority;
  /**
   * The time from the release to the end of the callback, for "edf" and for missed deadlines. 0: none.
   */
  int64_t deadline_ns;
  /**
   * The number of items that the source keeps, for the template of a deployment file. 0: it is not said.
   */
  uint32_t depth;
  /**
   * The number of callbacks of the entity that may run at once in a reentrant group. 0: one for each thread.
   */
  uint32_t max_in_flight;
  /**
   * For timers: the usual time from one due time to the next, which recordings and models know of, and which is the
   * deadline if there is no other one. rospin arms the timer for the next period by itself, and `next_due` corrects
   * that. Periods that a late timer skips are counted as lost. 0: the due times have no period.
   */
  int64_t period_ns;
} rospin_entity_options;

/**
 * The item that `take` has found.
 */
typedef struct {
  /**
   * The item, which is passed to `run`.
   */
  void *item;
  /**
   * See ROSPIN_TAKE_NEXT.
   */
  int64_t next_arrival_ns;
} rospin_taken;

/**
 * A source with its callback. None of the functions may throw. They are called by threads of the executor, except
 * where it is said otherwise.
 */
typedef struct {
  /**
   * sizeof(rospin_source).
   */
  size_t struct_size;
  /**
   * Passed to all functions.
   */
  void *data;
  /**
   * Takes one item without blocking, just before `run`: what was taken is run. Returns one of ROSPIN_TAKE_... Calls
   * for one entity never overlap. NULL: each notification runs the callback once, and several before that run count
   * as one.
   */
  int32_t (*take)(void *data, rospin_taken *taken);
  /**
   * Runs the callback. Must be given. Returns 0, or another status to end the spin: callbacks that run are waited
   * for, and rospin_executor_spin() returns ROSPIN_STOPPED. Calls overlap only in a reentrant group.
   */
  int32_t (*run)(void *data, void *item);
  /**
   * For timers, and required there: returns the time point at which the timer is next due, or ROSPIN_NEVER. Called
   * when the timer is created, after each `take` (if there is no `take`, after each `run`), and by
   * rospin_timer_update(). Calls for one timer never overlap. Must not call rospin_timer_update(). A time point that
   * has passed is due at once.
   */
  int64_t (*next_due)(void *data);
  /**
   * Called exactly once, on any thread, after the last call of all other functions has returned: the end of `data`.
   * If the entity cannot be created, it is called, too, unless the source itself is invalid. May be NULL.
   */
  void (*drop)(void *data);
} rospin_source;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Returns the version of the library's interface. Compare it with ROSPIN_ABI_VERSION.
 */
uint32_t rospin_abi_version(void);

/**
 * Returns why the last call of this thread that failed did so, and what to do; empty if none did. The text is valid
 * until the thread's next call that fails.
 */
const char *rospin_last_error(void);

/**
 * Sends rospin's log messages to a function, for the whole process: callbacks that fail, names in deployment files
 * that the program does not have, settings that threads could not get. `level_max` is the least important level that
 * is sent. Another call replaces the function, which may still be called by threads that log just then. NULL drops
 * messages, as at the beginning. `log` is called by any thread, and should not block.
 *
 * ROSPIN_ERROR_INVALID if the process has a logger of a Rust program.
 */
rospin_status rospin_set_log(void (*log)(void *data, int32_t level, const char *message),
                             void *data,
                             int32_t level_max);

/**
 * Creates a clock that shows zero.
 */
rospin_status rospin_clock_create(rospin_clock **clock);

/**
 * Gives up the handle. Contexts keep the clock.
 */
void rospin_clock_destroy(rospin_clock *clock);

/**
 * Moves the clock forward, and wakes the executors that follow it.
 */
void rospin_clock_advance(const rospin_clock *clock, int64_t by_ns);

/**
 * Creates a context. `options` may be NULL.
 */
rospin_status rospin_context_create(const rospin_context_options *options, rospin_context **context);

/**
 * Gives up the handle. Executors keep the context.
 */
void rospin_context_destroy(rospin_context *context);

/**
 * Writes the template of a deployment file once more, with everything that the program has had so far. Does nothing
 * without a template, or after the first spin of a context without rospin_context_options.loads_later.
 */
rospin_status rospin_context_write_template(const rospin_context *context);

/**
 * Logs a warning about each name in the deployment file that the program has not had so far: at the end of a program
 * with rospin_context_options.loads_later. Does nothing for others, whose first spin finds such names.
 */
void rospin_context_warn_of_unknown_names(const rospin_context *context);

/**
 * Returns the time on the context's steady clock (CLOCK_MONOTONIC), on which all time points are. Zero if `context` is
 * NULL.
 */
int64_t rospin_context_now(const rospin_context *context);

/**
 * Records what all executors of the process do, as programs in Rust do: ROSPIN_TRACE names the file, and
 * ROSPIN_TRACE_FLIGHT and others say how. Does nothing if ROSPIN_TRACE is not set.
 */
rospin_status rospin_trace_start_from_env(void);

/**
 * Records what all executors of the process do from now on, as an MCAP file, which `rospin trace` reads. The file must
 * not exist yet.
 */
rospin_status rospin_trace_start(const char *file);

/**
 * Completes all recordings. Otherwise they are completed when the process exits.
 */
rospin_status rospin_trace_stop(void);

/**
 * True while something is recorded. Neither blocks nor locks. Calls of the functions below do nothing otherwise, but
 * the publishers that they name are known to later recordings.
 */
bool rospin_trace_is_on(void);

/**
 * Names the topic of a publisher, such as "/robot/image". `publisher` is its id, which no other one has: 16 bytes. Its
 * name is kept until it is forgotten. Locks and allocates.
 */
rospin_status rospin_trace_name_publisher(const uint8_t *publisher, const char *topic);

/**
 * Forgets the name of a publisher, which sends nothing any more. Does nothing if it has none. Locks.
 */
rospin_status rospin_trace_forget_publisher(const uint8_t *publisher);

/**
 * Records that the calling thread publishes a message, at the time `at_ns` on the steady clock: a callback that runs on
 * the thread has published it. `number` tells the messages of a publisher apart. One message to several places, with
 * one time, counts as one.
 */
rospin_status rospin_trace_sent(const uint8_t *publisher, uint64_t number, int64_t at_ns);

/**
 * Records that the calling thread has taken the message of that publisher and number: for the callback that runs on
 * the thread, or is about to, when an entity's `take` calls it.
 */
rospin_status rospin_trace_received(const uint8_t *publisher, uint64_t number);

/**
 * Creates an executor. Nothing runs before it is spun, and nothing runs after the spin returned.
 */
rospin_status rospin_executor_create(const rospin_context *context,
                                     const rospin_executor_options *options,
                                     rospin_executor **executor);

/**
 * Gives up the handle, and ends the executor: `drop` is called for all of its sources, at the end of the spin if it
 * spins; for those of timers when their handles are destroyed. Groups and entities that are still around do nothing
 * from then on.
 */
void rospin_executor_destroy(rospin_executor *executor);

/**
 * Spins. `options` may be NULL: until halted. Returns ROSPIN_OK, ROSPIN_HALTED, ROSPIN_TIMEOUT or ROSPIN_STOPPED, or
 * an error.
 */
rospin_status rospin_executor_spin(const rospin_executor *executor, const rospin_spin_options *options);

/**
 * Ends the spin that is going on, or, if none is, the next one at its beginning: a halt is never lost. Callbacks that
 * run are waited for.
 */
void rospin_executor_halt(const rospin_executor *executor);

/**
 * Has the spin's `until` called soon: for whoever changes what it looks at. Does nothing if the spin has none.
 */
void rospin_executor_check(const rospin_executor *executor);

/**
 * Creates a group on the executor, or on the one that the deployment file names for it.
 */
rospin_status rospin_group_create(const rospin_executor *executor,
                                  const rospin_group_options *options,
                                  rospin_group **group);

/**
 * Gives up the handle. The group lives on as long as one of its entities.
 */
void rospin_group_destroy(rospin_group *group);

/**
 * Removes the group with all of its entities, as rospin_entity_destroy() does. Their handles do nothing from then on,
 * and must still be destroyed; so must that of the group.
 */
void rospin_group_remove(const rospin_group *group);

/**
 * Creates an entity. It is ready when it is notified. It also tries to take once at the beginning, since items may be
 * there already.
 */
rospin_status rospin_entity_create(const rospin_group *group,
                                   const rospin_entity_options *options,
                                   const rospin_source *source,
                                   rospin_entity **entity);

/**
 * Removes the entity, and gives up the handle. Returns at once: from the executor's next pick on its callback does not
 * start any more, but one that is running is not waited for. The source's `drop` is called when nothing of the source
 * runs any more: before this returns if nothing spins, else by a thread of the executor.
 */
void rospin_entity_destroy(rospin_entity *entity);

/**
 * Returns the entity's name, which is valid as long as the handle.
 */
const char *rospin_entity_name(const rospin_entity *entity);

/**
 * Returns the number of callbacks that ended after their deadlines.
 */
uint64_t rospin_entity_missed_deadlines(const rospin_entity *entity);

/**
 * Notifies that there may be something to take. The release is now. Neither blocks nor allocates, and may be called
 * under locks. Does nothing for timers and file descriptors.
 */
void rospin_entity_notify(const rospin_entity *entity);

/**
 * Creates a notifier. ROSPIN_ERROR_INVALID for timers and file descriptors, which need none.
 */
rospin_status rospin_notifier_create(const rospin_entity *entity, rospin_notifier **notifier);

/**
 * Gives up the handle.
 */
void rospin_notifier_destroy(rospin_notifier *notifier);

/**
 * Notifies as rospin_entity_notify() does.
 */
void rospin_notifier_notify(const rospin_notifier *notifier);

/**
 * Notifies of an item that arrived at that time, which is the release.
 */
void rospin_notifier_notify_at(const rospin_notifier *notifier, int64_t arrival_ns);

/**
 * Counts items that the source itself lost, because its queue was full.
 */
void rospin_notifier_count_lost(const rospin_notifier *notifier, uint64_t count);

/**
 * Creates a timer whose due times the caller calculates, see rospin_source.next_due. It is released at its due times,
 * not when they are noticed. With `take`, it is armed again before the callback runs, and may decline to run: it runs
 * if `take` returns ROSPIN_TAKE_MORE, _LAST or _NEXT, which mean the same for a timer. ROSPIN_TAKE_FAILED declines as
 * ROSPIN_TAKE_EMPTY does, and is neither counted nor logged. ROSPIN_TAKE_CLOSED ends the timer: it is never due again,
 * and neither `take` nor `next_due` is called any more. A timer that declines counts as a callback for ROSPIN_SPIN_ONCE
 * and ROSPIN_SPIN_SOME. `drop` is not called before the handle is destroyed.
 */
rospin_status rospin_timer_create(const rospin_group *group,
                                  const rospin_entity_options *options,
                                  const rospin_source *source,
                                  rospin_entity **timer);

/**
 * Asks the timer's `next_due` again, on the calling thread: for whoever has cancelled or reset the timer, or changed
 * its period or clock. The last answer counts. If the timer has fired and its callback has not started, the callback
 * runs only when it is due by that answer. Does not wait for a callback. ROSPIN_ERROR_INVALID if the entity is no
 * timer.
 */
rospin_status rospin_timer_update(const rospin_entity *timer);

/**
 * Creates an entity that runs as long as a file descriptor is ready. `events` is a sum of ROSPIN_FD_READABLE,
 * _WRITABLE and _PRIORITY. The source's `take` must be NULL. `item` is the sum of the events for which the descriptor
 * is ready, as a uintptr_t. The callback reads or writes without waiting. What it leaves is found again, so it ends
 * the entity, or the error, that ROSPIN_FD_HANGUP and ROSPIN_FD_ERROR tell of. rospin keeps a duplicate: the caller
 * may close its own.
 */
rospin_status rospin_fd_create(const rospin_group *group,
                               const rospin_entity_options *options,
                               int fd,
                               uint32_t events,
                               const rospin_source *source,
                               rospin_entity **entity);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* ROSPIN_H */
