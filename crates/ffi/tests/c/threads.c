/* Several threads: what overlaps, and what does not. */
#include "check.h"

struct crowd {
  rospin_executor *executor;
  pthread_barrier_t barrier;
  atomic_int items;
  atomic_int inside;
  atomic_int runs;
  atomic_int overlaps;
  int wanted;
};

static int32_t take(void *data, rospin_taken *taken) {
  struct crowd *crowd = data;
  (void)taken;
  int left = atomic_load(&crowd->items);
  while (left > 0 && !atomic_compare_exchange_weak(&crowd->items, &left, left - 1)) {
  }
  return left > 0 ? ROSPIN_TAKE_MORE : ROSPIN_TAKE_EMPTY;
}

static int32_t meet(void *data, void *item) {
  (void)item;
  struct crowd *crowd = data;
  /* Goes on only when so many callbacks are inside. */
  pthread_barrier_wait(&crowd->barrier);
  if (atomic_fetch_add(&crowd->runs, 1) + 1 == crowd->wanted) {
    rospin_executor_halt(crowd->executor);
  }
  return 0;
}

static int32_t be_alone(void *data, void *item) {
  (void)item;
  struct crowd *crowd = data;
  if (atomic_fetch_add(&crowd->inside, 1) > 0) {
    atomic_fetch_add(&crowd->overlaps, 1);
  }
  atomic_fetch_sub(&crowd->inside, 1);
  if (atomic_fetch_add(&crowd->runs, 1) + 1 == crowd->wanted) {
    rospin_executor_halt(crowd->executor);
  }
  return 0;
}

static rospin_entity *entity_new(const rospin_group *group, struct crowd *crowd, int32_t (*run)(void *, void *)) {
  rospin_source source = {.struct_size = sizeof(source), .data = crowd, .take = take, .run = run};
  rospin_entity_options options = {
      .struct_size = sizeof(options), .name = "crowd", .kind = ROSPIN_KIND_SUBSCRIPTION};
  rospin_entity *entity;
  CHECK(rospin_entity_create(group, &options, &source, &entity) == ROSPIN_OK);
  return entity;
}

static void a_reentrant_group_overlaps(void) {
  struct fixture f = fixture_new(NULL, 3);
  rospin_group_options in = {.struct_size = sizeof(in), .name = "reentrant", .is_reentrant = true};
  rospin_group *group;
  CHECK(rospin_group_create(f.executor, &in, &group) == ROSPIN_OK);
  struct crowd crowd = {.executor = f.executor, .items = 3, .wanted = 3};
  CHECK(pthread_barrier_init(&crowd.barrier, NULL, 3) == 0);
  rospin_entity *entity = entity_new(group, &crowd, meet);
  CHECK(rospin_executor_spin(f.executor, NULL) == ROSPIN_HALTED);
  CHECK(crowd.runs == 3 && crowd.items == 0);
  pthread_barrier_destroy(&crowd.barrier);
  rospin_entity_destroy(entity);
  rospin_group_destroy(group);
  fixture_end(&f);
}

static void *notify(void *entity) {
  for (int i = 0; i < 1000; i++) {
    rospin_entity_notify(entity);
  }
  return NULL;
}

static void an_exclusive_group_does_not(void) {
  struct fixture f = fixture_new(NULL, 3);
  struct crowd crowd = {.executor = f.executor, .items = 2000, .wanted = 2000};
  rospin_entity *entities[2] = {entity_new(f.group, &crowd, be_alone), entity_new(f.group, &crowd, be_alone)};
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) {
    CHECK(pthread_create(&threads[i], NULL, notify, entities[i]) == 0);
  }
  CHECK(rospin_executor_spin(f.executor, NULL) == ROSPIN_HALTED);
  CHECK(crowd.runs == 2000 && crowd.overlaps == 0 && crowd.items == 0);
  for (int i = 0; i < 2; i++) {
    CHECK(pthread_join(threads[i], NULL) == 0);
    rospin_entity_destroy(entities[i]);
  }
  fixture_end(&f);
}

void test_threads(void) {
  a_reentrant_group_overlaps();
  an_exclusive_group_does_not();
}
