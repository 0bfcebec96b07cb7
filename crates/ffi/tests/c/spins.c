/* Spins in all ways, and their ends. */
#include "check.h"

struct spinning {
  rospin_executor *executor;
  rospin_status status;
};

static void *spin_until_halted(void *data) {
  struct spinning *spinning = data;
  spinning->status = rospin_executor_spin(spinning->executor, NULL);
  return NULL;
}

static void halts_and_timeouts(void) {
  struct fixture f = fixture_new(NULL, 1);
  struct counted a = {0}, b = {0};
  rospin_entity *first = counted_new(f.group, "a", 2, &a);
  rospin_entity *second = counted_new(f.group, "b", 1, &b);
  CHECK(spin_ready(f.executor) == ROSPIN_TIMEOUT);
  rospin_entity_notify(first);
  rospin_entity_notify(second);
  CHECK(spin_ready(f.executor) == ROSPIN_OK);
  CHECK(strcmp(ran(), "a") == 0);
  CHECK(spin(f.executor, ROSPIN_SPIN_SOME) == ROSPIN_OK);
  CHECK(strcmp(ran(), "b") == 0);
  CHECK(spin(f.executor, ROSPIN_SPIN_SOME) == ROSPIN_OK);
  /* A halt before the spin is not lost. */
  rospin_executor_halt(f.executor);
  CHECK(rospin_executor_spin(f.executor, NULL) == ROSPIN_HALTED);
  rospin_entity_notify(first);
  rospin_executor_halt(f.executor);
  CHECK(spin(f.executor, ROSPIN_SPIN_ALL) == ROSPIN_HALTED);
  CHECK(strcmp(ran(), "") == 0);
  rospin_spin_options options = {.struct_size = sizeof(options), .has_timeout = true};
  CHECK(rospin_executor_spin(f.executor, &options) == ROSPIN_TIMEOUT);
  CHECK(spin(f.executor, ROSPIN_SPIN_ALL) == ROSPIN_OK);
  CHECK(strcmp(ran(), "a") == 0);
  rospin_entity_destroy(first);
  rospin_entity_destroy(second);
  fixture_end(&f);
}

/* ---- statuses of callbacks ---- */

struct stopping {
  rospin_executor *executor;
  int32_t status;
  int runs;
};

static int32_t stop(void *data, void *item) {
  (void)item;
  struct stopping *stopping = data;
  stopping->runs++;
  /* This thread spins the executor. */
  CHECK(rospin_executor_spin(stopping->executor, NULL) == ROSPIN_ERROR_SPINNING);
  CHECK(strstr(rospin_last_error(), "spinning already") != NULL);
  return stopping->status;
}

static void a_status_ends_the_spin(void) {
  struct fixture f = fixture_new(NULL, 1);
  struct stopping stopping = {.executor = f.executor, .status = -42};
  rospin_source source = {.struct_size = sizeof(source), .data = &stopping, .run = stop};
  rospin_entity_options options = {.struct_size = sizeof(options), .name = "stop", .kind = ROSPIN_KIND_WAITABLE};
  rospin_entity *entity;
  CHECK(rospin_entity_create(f.group, &options, &source, &entity) == ROSPIN_OK);
  const int32_t modes[] = {ROSPIN_SPIN_UNTIL_HALTED, ROSPIN_SPIN_ONCE, ROSPIN_SPIN_SOME, ROSPIN_SPIN_ALL};
  for (int i = 0; i < 4; i++) {
    int32_t status = 0;
    rospin_spin_options spin = {.struct_size = sizeof(spin), .mode = modes[i], .stop_status = &status};
    rospin_entity_notify(entity);
    CHECK(rospin_executor_spin(f.executor, &spin) == ROSPIN_STOPPED);
    CHECK(status == -42 && stopping.runs == i + 1);
  }
  /* The next spin goes on. */
  CHECK(spin_ready(f.executor) == ROSPIN_TIMEOUT);
  rospin_entity_destroy(entity);
  fixture_end(&f);
}

/* ---- conditions ---- */

struct condition {
  atomic_int is_met;
  atomic_int asked;
};

static bool is_met(void *data) {
  struct condition *condition = data;
  atomic_fetch_add(&condition->asked, 1);
  return atomic_load(&condition->is_met) != 0;
}

static int32_t meet(void *data, void *item) {
  (void)item;
  struct condition *condition = data;
  atomic_store(&condition->is_met, 1);
  return 0;
}

static void spins_until_a_condition(void) {
  struct fixture f = fixture_new(NULL, 2);
  struct condition condition = {0};
  rospin_source source = {.struct_size = sizeof(source), .data = &condition, .run = meet};
  rospin_entity_options options = {.struct_size = sizeof(options), .name = "meet", .kind = ROSPIN_KIND_CLIENT};
  rospin_entity *entity;
  CHECK(rospin_entity_create(f.group, &options, &source, &entity) == ROSPIN_OK);
  rospin_spin_options spin = {.struct_size = sizeof(spin), .until = is_met, .until_data = &condition};
  spin.has_timeout = true;
  CHECK(rospin_executor_spin(f.executor, &spin) == ROSPIN_TIMEOUT);
  CHECK(condition.asked > 0);
  spin.has_timeout = false;
  rospin_executor_halt(f.executor);
  CHECK(rospin_executor_spin(f.executor, &spin) == ROSPIN_HALTED);
  rospin_entity_notify(entity);
  CHECK(rospin_executor_spin(f.executor, &spin) == ROSPIN_OK);
  CHECK(condition.is_met == 1);
  CHECK(rospin_executor_spin(f.executor, &spin) == ROSPIN_OK);
  spin.mode = ROSPIN_SPIN_ALL;
  CHECK(rospin_executor_spin(f.executor, &spin) == ROSPIN_ERROR_INVALID);
  rospin_executor_check(f.executor);
  rospin_entity_destroy(entity);
  fixture_end(&f);
}

struct waiting {
  struct fixture *fixture;
  struct condition condition;
};

static void *meet_from_outside(void *data) {
  struct waiting *waiting = data;
  /* The spin has looked in vain. */
  wait_until(&waiting->condition.asked, 1);
  atomic_store(&waiting->condition.is_met, 1);
  rospin_executor_check(waiting->fixture->executor);
  return NULL;
}

static void another_thread_meets_the_condition(void) {
  struct fixture f = fixture_new(NULL, 1);
  struct waiting waiting = {.fixture = &f};
  rospin_spin_options spin = {.struct_size = sizeof(spin), .until = is_met, .until_data = &waiting.condition};
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, meet_from_outside, &waiting) == 0);
  CHECK(rospin_executor_spin(f.executor, &spin) == ROSPIN_OK);
  CHECK(pthread_join(thread, NULL) == 0);
  fixture_end(&f);
}

static void another_thread_halts(void) {
  struct fixture f = fixture_new(NULL, 2);
  struct counted a = {0};
  rospin_entity *entity = counted_new(f.group, "a", 0, &a);
  struct spinning spinning = {.executor = f.executor};
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, spin_until_halted, &spinning) == 0);
  rospin_entity_notify(entity);
  wait_until(&a.runs, 1);
  rospin_executor_halt(f.executor);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(spinning.status == ROSPIN_HALTED && strcmp(ran(), "a") == 0);
  rospin_entity_destroy(entity);
  fixture_end(&f);
}

static int32_t answer_four(void *data, void *item) {
  (void)data;
  (void)item;
  return 4;
}

static void a_status_ends_the_spin_of_its_executor_and_not_that_of_a_namesake(void) {
  struct fixture f = fixture_new(NULL, 1);
  rospin_executor_options same = {.struct_size = sizeof(same), .name = "main"};
  rospin_executor *other;
  CHECK(rospin_executor_create(f.context, &same, &other) == ROSPIN_OK);
  rospin_group_options in = {.struct_size = sizeof(in), .name = "other"};
  rospin_group *group;
  CHECK(rospin_group_create(other, &in, &group) == ROSPIN_OK);
  rospin_source source = {.struct_size = sizeof(source), .run = answer_four};
  rospin_entity_options named = {.struct_size = sizeof(named), .name = "stop", .kind = ROSPIN_KIND_WAITABLE};
  rospin_entity *entity;
  CHECK(rospin_entity_create(group, &named, &source, &entity) == ROSPIN_OK);
  rospin_entity_notify(entity);
  int32_t status = 0;
  rospin_spin_options options = {
      .struct_size = sizeof(options), .mode = ROSPIN_SPIN_ALL, .stop_status = &status};
  CHECK(rospin_executor_spin(other, &options) == ROSPIN_STOPPED && status == 4);
  CHECK(spin(f.executor, ROSPIN_SPIN_ALL) == ROSPIN_OK);
  rospin_entity_destroy(entity);
  rospin_group_destroy(group);
  rospin_executor_destroy(other);
  fixture_end(&f);
}

void test_spins(void) {
  halts_and_timeouts();
  a_status_ends_the_spin();
  a_status_ends_the_spin_of_its_executor_and_not_that_of_a_namesake();
  spins_until_a_condition();
  another_thread_meets_the_condition();
  another_thread_halts();
}
