/* Timers whose due times the program calculates, as rcl's are. */
#include "check.h"

/* A timer of a client library: it has a period, may be cancelled and reset, and keeps its own next due time. */
struct timer {
  const rospin_context *context;
  int64_t period;
  /* The period that rospin knows of; 0 if none. */
  int64_t known_period;
  int64_t next;
  int64_t ran_for[16];
  int runs;
  int declined;
  int drops;
  bool is_cancelled;
  bool cancels_itself;
  bool is_closed;
};

static int64_t next_due(void *data) {
  struct timer *timer = data;
  return timer->is_cancelled ? ROSPIN_NEVER : timer->next;
}

/* What rcl_timer_call() does: decides if the timer runs, and when it is next due. */
static int32_t call(void *data, rospin_taken *taken) {
  struct timer *timer = data;
  if (timer->is_closed) {
    timer->declined++;
    return ROSPIN_TAKE_CLOSED;
  }
  if (timer->is_cancelled || timer->next > rospin_context_now(timer->context)) {
    timer->declined++;
    return ROSPIN_TAKE_EMPTY;
  }
  taken->item = &timer->ran_for[timer->runs];
  timer->ran_for[timer->runs] = timer->next;
  timer->next += timer->period;
  return ROSPIN_TAKE_LAST;
}

static int32_t run_called(void *data, void *item) {
  struct timer *timer = data;
  CHECK(item == &timer->ran_for[timer->runs]);
  timer->runs++;
  timer->is_cancelled = timer->cancels_itself;
  return 0;
}

/* Without `take`, the callback itself counts on. */
static int32_t run_alone(void *data, void *item) {
  struct timer *timer = data;
  CHECK(item == NULL);
  timer->ran_for[timer->runs++] = timer->next;
  timer->next += timer->period;
  return 0;
}

static void drop(void *data) {
  struct timer *timer = data;
  timer->drops++;
}

static rospin_entity *timer_new(const rospin_group *group, struct timer *timer, bool has_take) {
  rospin_entity_options options = {.struct_size = sizeof(options), .name = "timer", .period_ns = timer->known_period};
  rospin_source source = {.struct_size = sizeof(source),
                          .data = timer,
                          .take = has_take ? call : NULL,
                          .run = has_take ? run_called : run_alone,
                          .next_due = next_due,
                          .drop = drop};
  rospin_entity *entity;
  CHECK(rospin_timer_create(group, &options, &source, &entity) == ROSPIN_OK);
  return entity;
}

static void advance(const struct fixture *f, int64_t by) {
  rospin_clock_advance(f->clock, by);
  CHECK(spin(f->executor, ROSPIN_SPIN_ALL) == ROSPIN_OK);
}

static void due_times_are_kept(bool has_take, int64_t known_period) {
  struct fixture f = fixture_new(NULL, 1);
  struct timer timer = {.context = f.context, .period = 10 * MS, .known_period = known_period, .next = 10 * MS};
  rospin_entity *entity = timer_new(f.group, &timer, has_take);
  advance(&f, 9 * MS);
  CHECK(timer.runs == 0);
  advance(&f, 1 * MS);
  CHECK(timer.runs == 1 && timer.ran_for[0] == 10 * MS);
  /* Late: each due time runs, since the program counts on from the last one. */
  advance(&f, 25 * MS);
  CHECK(timer.runs == 3 && timer.ran_for[2] == 30 * MS);
  advance(&f, 5 * MS);
  CHECK(timer.runs == 4);

  timer.is_cancelled = true;
  CHECK(rospin_timer_update(entity) == ROSPIN_OK);
  advance(&f, 30 * MS);
  CHECK(timer.runs == 4);
  /* Reset with another period. */
  timer.is_cancelled = false;
  timer.period = 3 * MS;
  timer.next = rospin_context_now(f.context) + timer.period;
  CHECK(rospin_timer_update(entity) == ROSPIN_OK);
  advance(&f, 2 * MS);
  CHECK(timer.runs == 4);
  advance(&f, 1 * MS);
  CHECK(timer.runs == 5 && timer.ran_for[4] == 73 * MS);

  /* It is due, and is put off before it is noticed. */
  rospin_clock_advance(f.clock, 3 * MS);
  timer.next += 10 * MS;
  CHECK(rospin_timer_update(entity) == ROSPIN_OK);
  advance(&f, 9 * MS);
  CHECK(timer.runs == 5 && timer.declined == 0);
  advance(&f, 1 * MS);
  CHECK(timer.runs == 6);

  CHECK(timer.drops == 0);
  rospin_entity_destroy(entity);
  CHECK(timer.drops == 1);
  advance(&f, 100 * MS);
  CHECK(timer.runs == 6);
  fixture_end(&f);
}

/* The program has changed the timer and not said so: it is asked when the former due time comes, and declines. */
static void a_timer_declines(void) {
  struct fixture f = fixture_new(NULL, 1);
  struct timer timer = {.context = f.context, .period = 10 * MS, .next = 10 * MS};
  rospin_entity *entity = timer_new(f.group, &timer, true);
  timer.next = 15 * MS;
  advance(&f, 10 * MS);
  CHECK(timer.runs == 0 && timer.declined == 1);
  advance(&f, 5 * MS);
  CHECK(timer.runs == 1 && timer.ran_for[0] == 15 * MS);
  timer.cancels_itself = true;
  advance(&f, 10 * MS);
  CHECK(timer.runs == 2);
  advance(&f, 10 * MS);
  CHECK(timer.runs == 2 && timer.declined == 2);
  advance(&f, 100 * MS);
  CHECK(timer.declined == 2);
  rospin_entity_destroy(entity);
  fixture_end(&f);
}

static void a_timer_ends_that_is_closed(int64_t known_period) {
  struct fixture f = fixture_new(NULL, 1);
  struct timer timer = {.context = f.context, .period = 10 * MS, .known_period = known_period, .next = 10 * MS};
  rospin_entity *entity = timer_new(f.group, &timer, true);
  timer.is_closed = true;
  advance(&f, 10 * MS);
  CHECK(timer.declined == 1);
  timer.is_closed = false;
  advance(&f, 100 * MS);
  CHECK(rospin_timer_update(entity) == ROSPIN_OK);
  advance(&f, 100 * MS);
  CHECK(timer.runs == 0 && timer.declined == 1 && timer.drops == 0);
  /* The executor ends, and the timer keeps its data. */
  rospin_group_destroy(f.group);
  rospin_executor_destroy(f.executor);
  CHECK(timer.drops == 0);
  rospin_entity_destroy(entity);
  CHECK(timer.drops == 1);
  rospin_context_destroy(f.context);
  rospin_clock_destroy(f.clock);
}

static void timers_and_entities_share_one_order(void) {
  struct fixture f = fixture_new(NULL, 1);
  struct counted a = {0}, b = {0};
  struct timer timer = {.context = f.context, .period = 10 * MS, .next = 10 * MS};
  rospin_entity *early = counted_new(f.group, "a", 0, &a);
  rospin_entity *entity = timer_new(f.group, &timer, true);
  rospin_entity *late = counted_new(f.group, "b", 0, &b);
  CHECK(rospin_timer_update(early) == ROSPIN_ERROR_INVALID);
  CHECK(spin(f.executor, ROSPIN_SPIN_ALL) == ROSPIN_OK);
  rospin_clock_advance(f.clock, 9 * MS);
  rospin_entity_notify(early);
  rospin_clock_advance(f.clock, 2 * MS);
  rospin_entity_notify(late);
  /* Released at 9, 10 and 11 ms. */
  CHECK(spin_ready(f.executor) == ROSPIN_OK && strcmp(ran(), "a") == 0 && timer.runs == 0);
  CHECK(spin_ready(f.executor) == ROSPIN_OK && strcmp(ran(), "") == 0 && timer.runs == 1);
  CHECK(spin_ready(f.executor) == ROSPIN_OK && strcmp(ran(), "b") == 0);
  rospin_entity_destroy(early);
  rospin_entity_destroy(entity);
  rospin_entity_destroy(late);
  fixture_end(&f);
}

/* ---- on the kernel's clock ---- */

struct changed {
  rospin_entity *timer;
  atomic_llong due;
  atomic_int runs;
};

static int64_t changed_due(void *data) {
  struct changed *changed = data;
  return atomic_load(&changed->due);
}

static int32_t changed_run(void *data, void *item) {
  (void)item;
  struct changed *changed = data;
  atomic_store(&changed->due, ROSPIN_NEVER);
  atomic_fetch_add(&changed->runs, 1);
  return 0;
}

static void *spin_it(void *executor) {
  CHECK(rospin_executor_spin(executor, NULL) == ROSPIN_HALTED);
  return NULL;
}

static void *change(void *data) {
  struct changed *changed = data;
  for (int i = 0; i < 500; i++) {
    atomic_store(&changed->due, i % 2 ? ROSPIN_NEVER : 1);
    CHECK(rospin_timer_update(changed->timer) == ROSPIN_OK);
  }
  return NULL;
}

/* Threads change a timer at the same time, while it runs on other threads. The last change counts. */
static void timers_are_changed_while_they_spin(void) {
  rospin_context *context;
  CHECK(rospin_context_create(NULL, &context) == ROSPIN_OK);
  rospin_executor_options options = {.struct_size = sizeof(options), .name = "main", .threads = 2};
  rospin_executor *executor;
  CHECK(rospin_executor_create(context, &options, &executor) == ROSPIN_OK);
  rospin_group_options in = {.struct_size = sizeof(in), .name = "group", .is_reentrant = true};
  rospin_group *group;
  CHECK(rospin_group_create(executor, &in, &group) == ROSPIN_OK);
  struct changed changed = {.due = ROSPIN_NEVER};
  rospin_source source = {
      .struct_size = sizeof(source), .data = &changed, .run = changed_run, .next_due = changed_due};
  rospin_entity_options named = {.struct_size = sizeof(named), .name = "changed"};
  CHECK(rospin_timer_create(group, &named, &source, &changed.timer) == ROSPIN_OK);
  pthread_t spinning, changing[2];
  CHECK(pthread_create(&spinning, NULL, spin_it, executor) == 0);
  for (int i = 0; i < 2; i++) {
    CHECK(pthread_create(&changing[i], NULL, change, &changed) == 0);
  }
  for (int i = 0; i < 2; i++) {
    CHECK(pthread_join(changing[i], NULL) == 0);
  }
  int before = atomic_load(&changed.runs);
  atomic_store(&changed.due, rospin_context_now(context) + 1 * MS);
  CHECK(rospin_timer_update(changed.timer) == ROSPIN_OK);
  wait_until(&changed.runs, before + 1);
  rospin_executor_halt(executor);
  CHECK(pthread_join(spinning, NULL) == 0);
  rospin_entity_destroy(changed.timer);
  rospin_group_destroy(group);
  rospin_executor_destroy(executor);
  rospin_context_destroy(context);
}

void test_timers(void) {
  for (int has_take = 0; has_take < 2; has_take++) {
    due_times_are_kept(has_take, 0);
    due_times_are_kept(has_take, 10 * MS);
    /* A period that is wrong does no harm. */
    due_times_are_kept(has_take, 7 * MS);
  }
  a_timer_declines();
  a_timer_ends_that_is_closed(0);
  a_timer_ends_that_is_closed(10 * MS);
  timers_and_entities_share_one_order();
  timers_are_changed_while_they_spin();
}
