/* What the tests of the interface for C have in common: checks, and an executor with its context and a group. */
#ifndef CHECK_H
#define CHECK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rospin.h"

#define CHECK(condition)                                                                          \
  do {                                                                                            \
    if (!(condition)) {                                                                           \
      fprintf(stderr, "%s:%d: %s\nlast error: %s\n", __FILE__, __LINE__, #condition,              \
              rospin_last_error());                                                               \
      abort();                                                                                    \
    }                                                                                             \
  } while (0)

#define MS INT64_C(1000000)

/* A context on a clock that is moved by hand, an executor, and a group. */
struct fixture {
  rospin_clock *clock;
  rospin_context *context;
  rospin_executor *executor;
  rospin_group *group;
};

/* A counted entity: how often it ran and was dropped. `order` and `order_count` log the letters of those that ran. */
struct counted {
  atomic_int runs;
  atomic_int drops;
  char letter;
};

extern char order[64];
extern atomic_int order_count;

struct fixture fixture_new(const char *policy, uint16_t threads);
void fixture_end(struct fixture *fixture);
rospin_status spin(const rospin_executor *executor, int32_t mode);
/* Spins for one callback, and does not wait. */
rospin_status spin_ready(const rospin_executor *executor);
/* Creates an entity without `take` that counts. */
rospin_entity *counted_new(const rospin_group *group, const char *name, uint32_t priority, struct counted *counted);
int32_t counted_run(void *data, void *item);
void counted_drop(void *data);
/* Returns the letters of what ran since the last call. */
const char *ran(void);
void wait_until(atomic_int *number, int at_least);

void test_errors(void);
void test_order(void);
void test_items(void);
void test_spins(void);
void test_timers(void);
void test_threads(void);
void test_removal(void);
void test_descriptors(void);
void test_deployment(const char *folder);
void test_trace(const char *folder);

#endif
