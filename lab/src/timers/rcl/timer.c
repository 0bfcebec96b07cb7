/* A timer of rcl in a wait set, as the executors of rclcpp, rclpy and rclrs wait for theirs, and nothing else.
 *
 *     timer PERIOD_NS COUNT CORE PRIORITY
 *
 * The node and its middleware's threads are created as in every program. Then this thread gets the core and, if PRIORITY
 * is not 0, SCHED_FIFO with that priority. It prints the lateness in nanoseconds of each of COUNT starts, as rcl counts
 * due times. rcl skips due times that have passed, so fewer lines may come. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#include "rcl/error_handling.h"
#include "rcl/rcl.h"

/* Time after the last due time for which starts still count, as for the other timers. */
#define GRACE_NS 20000000

static void check(rcl_ret_t result, const char *call) {
    if (result != RCL_RET_OK) {
        fprintf(stderr, "%s: %s\n", call, rcl_get_error_string().str);
        exit(1);
    }
}

static int64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void set_up_thread(int core, int priority) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(core, &cores);
    if (sched_setaffinity(0, sizeof cores, &cores) != 0) {
        perror("sched_setaffinity");
        exit(1);
    }
    struct sched_param param = {.sched_priority = priority};
    if (priority > 0 && sched_setscheduler(0, SCHED_FIFO, &param) != 0) {
        perror("sched_setscheduler");
        exit(1);
    }
    /* It matters to threads without a real-time priority. */
    prctl(PR_SET_TIMERSLACK, 1UL);
}

int main(int argc, char **argv) {
    if (argc != 5) {
        fprintf(stderr, "usage: %s PERIOD_NS COUNT CORE PRIORITY\n", argv[0]);
        return 2;
    }
    int64_t period_ns = atoll(argv[1]);
    int64_t count = atoll(argv[2]);
    rcl_allocator_t allocator = rcl_get_default_allocator();

    rcl_init_options_t init_options = rcl_get_zero_initialized_init_options();
    check(rcl_init_options_init(&init_options, allocator), "rcl_init_options_init");
    rcl_context_t context = rcl_get_zero_initialized_context();
    check(rcl_init(0, NULL, &init_options, &context), "rcl_init");
    rcl_node_options_t node_options = rcl_node_get_default_options();
    rcl_node_t node = rcl_get_zero_initialized_node();
    check(rcl_node_init(&node, "rospin_lab_timer", "", &context, &node_options), "rcl_node_init");
    rcl_clock_t clock;
    check(rcl_clock_init(RCL_STEADY_TIME, &clock, &allocator), "rcl_clock_init");
    rcl_wait_set_t set = rcl_get_zero_initialized_wait_set();
    check(rcl_wait_set_init(&set, 0, 0, 1, 0, 0, 0, &context, allocator), "rcl_wait_set_init");

    /* The memory is touched here, because a page fault later would look like a late start. */
    int64_t *late_ns = malloc(count * sizeof *late_ns);
    for (int64_t i = 0; i < count; i++) {
        late_ns[i] = -1;
    }
    set_up_thread(atoi(argv[3]), atoi(argv[4]));

    rcl_timer_t timer = rcl_get_zero_initialized_timer();
    check(rcl_timer_init2(&timer, &clock, &context, period_ns, NULL, allocator, true), "rcl_timer_init2");
    int64_t first_ns;
    check(rcl_timer_get_next_call_time(&timer, &first_ns), "rcl_timer_get_next_call_time");
    int64_t last_ns = first_ns + (count - 1) * period_ns;
    int64_t fired = 0;
    for (;;) {
        check(rcl_wait_set_clear(&set), "rcl_wait_set_clear");
        check(rcl_wait_set_add_timer(&set, &timer, NULL), "rcl_wait_set_add_timer");
        rcl_ret_t waited = rcl_wait(&set, -1);
        if (waited != RCL_RET_TIMEOUT) {
            check(waited, "rcl_wait");
        }
        bool ready = false;
        check(rcl_timer_is_ready(&timer, &ready), "rcl_timer_is_ready");
        if (!ready) {
            continue;
        }
        rcl_timer_call_info_t info;
        check(rcl_timer_call_with_info(&timer, &info), "rcl_timer_call_with_info");
        /* The callback begins here. */
        int64_t start_ns = now_ns();
        if (info.expected_call_time <= last_ns && fired < count) {
            late_ns[fired++] = start_ns - info.expected_call_time;
        }
        if (info.expected_call_time >= last_ns || start_ns >= last_ns + GRACE_NS) {
            break;
        }
    }

    for (int64_t i = 0; i < fired; i++) {
        printf("%lld\n", (long long)late_ns[i]);
    }
    check(rcl_timer_fini(&timer), "rcl_timer_fini");
    check(rcl_wait_set_fini(&set), "rcl_wait_set_fini");
    check(rcl_clock_fini(&clock), "rcl_clock_fini");
    check(rcl_node_fini(&node), "rcl_node_fini");
    check(rcl_shutdown(&context), "rcl_shutdown");
    check(rcl_context_fini(&context), "rcl_context_fini");
    check(rcl_init_options_fini(&init_options), "rcl_init_options_fini");
    free(late_ns);
    return 0;
}
