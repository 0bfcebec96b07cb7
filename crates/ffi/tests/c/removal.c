/* Entities, groups and executors come and go while callbacks run. */
#include "check.h"

struct removal {
  struct fixture fixture;
  rospin_entity *entity;
  atomic_int began;
  atomic_int may_end;
  atomic_int ended;
  atomic_int drops;
  atomic_int was_dropped_early;
};

static int32_t wait_in_callback(void *data, void *item) {
  (void)item;
  struct removal *removal = data;
  atomic_store(&removal->began, 1);
  wait_until(&removal->may_end, 1);
  if (atomic_load(&removal->drops) > 0) {
    atomic_store(&removal->was_dropped_early, 1);
  }
  atomic_store(&removal->ended, 1);
  return 0;
}

static void drop(void *data) {
  struct removal *removal = data;
  atomic_fetch_add(&removal->drops, 1);
}

static rospin_entity *entity_new(struct removal *removal, int32_t (*run)(void *, void *)) {
  rospin_source source = {.struct_size = sizeof(source), .data = removal, .run = run, .drop = drop};
  rospin_entity_options options = {.struct_size = sizeof(options), .name = "gone", .kind = ROSPIN_KIND_WAITABLE};
  rospin_entity *entity;
  CHECK(rospin_entity_create(removal->fixture.group, &options, &source, &entity) == ROSPIN_OK);
  return entity;
}

static void *spin_it(void *executor) {
  CHECK(rospin_executor_spin(executor, NULL) == ROSPIN_HALTED);
  return NULL;
}

/* `destroy` does not wait for the callback, and `drop` does. */
static void a_running_callback_is_not_waited_for(bool removes_group) {
  struct removal removal = {.fixture = fixture_new(NULL, 1)};
  removal.entity = entity_new(&removal, wait_in_callback);
  rospin_notifier *notifier;
  CHECK(rospin_notifier_create(removal.entity, &notifier) == ROSPIN_OK);
  pthread_t spinning;
  CHECK(pthread_create(&spinning, NULL, spin_it, removal.fixture.executor) == 0);
  rospin_notifier_notify(notifier);
  wait_until(&removal.began, 1);
  if (removes_group) {
    rospin_group_remove(removal.fixture.group);
  }
  rospin_entity_destroy(removal.entity);
  rospin_notifier_notify(notifier);
  CHECK(removal.drops == 0);
  atomic_store(&removal.may_end, 1);
  wait_until(&removal.drops, 1);
  CHECK(removal.ended == 1 && removal.was_dropped_early == 0);
  rospin_executor_halt(removal.fixture.executor);
  CHECK(pthread_join(spinning, NULL) == 0);
  rospin_notifier_notify(notifier);
  rospin_notifier_destroy(notifier);
  fixture_end(&removal.fixture);
  CHECK(removal.drops == 1);
}

static int32_t destroy_entity(void *data, void *item) {
  (void)item;
  struct removal *removal = data;
  rospin_entity_destroy(removal->entity);
  CHECK(removal->drops == 0);
  atomic_fetch_add(&removal->ended, 1);
  return 0;
}

static void a_callback_destroys_its_own_entity(void) {
  struct removal removal = {.fixture = fixture_new(NULL, 1)};
  removal.entity = entity_new(&removal, destroy_entity);
  rospin_entity_notify(removal.entity);
  CHECK(spin(removal.fixture.executor, ROSPIN_SPIN_ALL) == ROSPIN_OK);
  CHECK(removal.ended == 1 && removal.drops == 1);
  fixture_end(&removal.fixture);
}

static int32_t destroy_executor(void *data, void *item) {
  (void)item;
  struct removal *removal = data;
  rospin_executor_halt(removal->fixture.executor);
  rospin_executor_destroy(removal->fixture.executor);
  rospin_context_destroy(removal->fixture.context);
  CHECK(removal->drops == 0);
  removal->fixture.executor = NULL;
  removal->fixture.context = NULL;
  return 0;
}

static void a_callback_destroys_its_executor(void) {
  struct removal removal = {.fixture = fixture_new(NULL, 1)};
  removal.entity = entity_new(&removal, destroy_executor);
  rospin_entity_notify(removal.entity);
  CHECK(rospin_executor_spin(removal.fixture.executor, NULL) == ROSPIN_HALTED);
  CHECK(removal.drops == 1);
  rospin_entity_notify(removal.entity);
  rospin_entity_destroy(removal.entity);
  fixture_end(&removal.fixture);
}

static int32_t add_entity(void *data, void *item) {
  (void)item;
  struct removal *removal = data;
  if (atomic_fetch_add(&removal->began, 1) < 3) {
    rospin_entity *added = entity_new(removal, add_entity);
    rospin_entity_notify(added);
    rospin_entity_destroy(removal->entity);
    removal->entity = added;
  }
  return 0;
}

static void a_callback_replaces_its_own_entity(void) {
  struct removal removal = {.fixture = fixture_new(NULL, 1)};
  removal.entity = entity_new(&removal, add_entity);
  rospin_entity_notify(removal.entity);
  CHECK(spin(removal.fixture.executor, ROSPIN_SPIN_ALL) == ROSPIN_OK);
  CHECK(removal.began == 4 && removal.drops == 3);
  rospin_entity_destroy(removal.entity);
  CHECK(removal.drops == 4);
  fixture_end(&removal.fixture);
}

/* ---- many threads ---- */

struct churn {
  rospin_executor *executor;
  atomic_int created;
  atomic_int drops;
};

static int32_t churn_run(void *data, void *item) {
  (void)data;
  (void)item;
  return 0;
}

static void churn_drop(void *data) {
  struct churn *churn = data;
  atomic_fetch_add(&churn->drops, 1);
}

static int64_t at_once(void *data) {
  (void)data;
  return 0;
}

static void *come_and_go(void *data) {
  struct churn *churn = data;
  for (int i = 0; i < 100; i++) {
    rospin_group_options in = {.struct_size = sizeof(in), .name = "churn", .is_reentrant = i % 2 == 0};
    rospin_group *group;
    CHECK(rospin_group_create(churn->executor, &in, &group) == ROSPIN_OK);
    rospin_source source = {
        .struct_size = sizeof(source), .data = churn, .run = churn_run, .next_due = at_once, .drop = churn_drop};
    rospin_entity_options options = {.struct_size = sizeof(options), .name = "churn", .kind = ROSPIN_KIND_CLIENT};
    rospin_entity *entity, *timer;
    CHECK(rospin_entity_create(group, &options, &source, &entity) == ROSPIN_OK);
    CHECK(rospin_timer_create(group, &options, &source, &timer) == ROSPIN_OK);
    atomic_fetch_add(&churn->created, 2);
    rospin_entity_notify(entity);
    if (i % 3 == 0) {
      rospin_group_remove(group);
    }
    rospin_group_destroy(group);
    rospin_entity_destroy(timer);
    rospin_entity_destroy(entity);
  }
  return NULL;
}

static void everything_comes_and_goes(void) {
  struct fixture f = fixture_new(NULL, 2);
  struct churn churn = {.executor = f.executor};
  pthread_t spinning, threads[2];
  CHECK(pthread_create(&spinning, NULL, spin_it, f.executor) == 0);
  for (int i = 0; i < 2; i++) {
    CHECK(pthread_create(&threads[i], NULL, come_and_go, &churn) == 0);
  }
  for (int i = 0; i < 2; i++) {
    CHECK(pthread_join(threads[i], NULL) == 0);
  }
  rospin_executor_halt(f.executor);
  CHECK(pthread_join(spinning, NULL) == 0);
  fixture_end(&f);
  CHECK(churn.created == 400 && churn.drops == 400);
}

void test_removal(void) {
  a_running_callback_is_not_waited_for(false);
  a_running_callback_is_not_waited_for(true);
  a_callback_destroys_its_own_entity();
  a_callback_destroys_its_executor();
  a_callback_replaces_its_own_entity();
  everything_comes_and_goes();
}
