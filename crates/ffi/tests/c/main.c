/* Goes through the whole interface for C. Its argument is a folder for files. */
#include <sched.h>
#include <unistd.h>

#include "check.h"

char order[64];
atomic_int order_count;
static char seen[64];

struct fixture fixture_new(const char *policy, uint16_t threads) {
  struct fixture fixture;
  CHECK(rospin_clock_create(&fixture.clock) == ROSPIN_OK);
  rospin_context_options context = {.struct_size = sizeof(context), .manual_clock = fixture.clock};
  CHECK(rospin_context_create(&context, &fixture.context) == ROSPIN_OK);
  rospin_executor_options executor = {
      .struct_size = sizeof(executor), .name = "main", .policy = policy, .threads = threads};
  CHECK(rospin_executor_create(fixture.context, &executor, &fixture.executor) == ROSPIN_OK);
  rospin_group_options group = {.struct_size = sizeof(group), .name = "group"};
  CHECK(rospin_group_create(fixture.executor, &group, &fixture.group) == ROSPIN_OK);
  return fixture;
}

void fixture_end(struct fixture *fixture) {
  rospin_group_destroy(fixture->group);
  rospin_executor_destroy(fixture->executor);
  rospin_context_destroy(fixture->context);
  rospin_clock_destroy(fixture->clock);
}

rospin_status spin(const rospin_executor *executor, int32_t mode) {
  rospin_spin_options options = {.struct_size = sizeof(options), .mode = mode};
  return rospin_executor_spin(executor, &options);
}

rospin_status spin_ready(const rospin_executor *executor) {
  rospin_spin_options options = {.struct_size = sizeof(options), .mode = ROSPIN_SPIN_ONCE, .has_timeout = true};
  return rospin_executor_spin(executor, &options);
}

int32_t counted_run(void *data, void *item) {
  (void)item;
  struct counted *counted = data;
  atomic_fetch_add(&counted->runs, 1);
  order[atomic_fetch_add(&order_count, 1)] = counted->letter;
  return 0;
}

void counted_drop(void *data) {
  struct counted *counted = data;
  atomic_fetch_add(&counted->drops, 1);
}

rospin_entity *counted_new(const rospin_group *group, const char *name, uint32_t priority, struct counted *counted) {
  counted->letter = name[0];
  rospin_entity_options options = {.struct_size = sizeof(options),
                                   .name = name,
                                   .kind = ROSPIN_KIND_WAITABLE,
                                   .has_priority = priority > 0,
                                   .priority = priority};
  rospin_source source = {.struct_size = sizeof(source), .data = counted, .run = counted_run, .drop = counted_drop};
  rospin_entity *entity = NULL;
  CHECK(rospin_entity_create(group, &options, &source, &entity) == ROSPIN_OK);
  CHECK(strcmp(rospin_entity_name(entity), name) == 0);
  return entity;
}

const char *ran(void) {
  int count = atomic_exchange(&order_count, 0);
  memcpy(seen, order, (size_t)count);
  seen[count] = 0;
  return seen;
}

void wait_until(atomic_int *number, int at_least) {
  while (atomic_load(number) < at_least) {
    sched_yield();
  }
}

int main(int argc, char **argv) {
  CHECK(argc == 2);
  /* A test that hangs fails. */
  alarm(60);
  CHECK(rospin_abi_version() == ROSPIN_ABI_VERSION);
  CHECK(rospin_trace_start_from_env() == ROSPIN_OK);
  test_errors();
  test_order();
  test_items();
  test_spins();
  test_timers();
  test_threads();
  test_removal();
  test_descriptors();
  test_deployment(argv[1]);
  test_trace(argv[1]);
  puts("all done");
  return 0;
}
