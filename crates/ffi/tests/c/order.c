/* The order in which callbacks run, and the items that they get. */
#include "check.h"

static void priorities_decide(void) {
  struct fixture f = fixture_new(NULL, 1);
  struct counted a = {0}, b = {0}, c = {0};
  rospin_entity *low = counted_new(f.group, "a", 1, &a);
  rospin_entity *high = counted_new(f.group, "b", 3, &b);
  rospin_entity *middle = counted_new(f.group, "c", 2, &c);
  CHECK(spin(f.executor, ROSPIN_SPIN_ALL) == ROSPIN_OK);
  CHECK(strcmp(ran(), "") == 0);
  rospin_entity_notify(low);
  rospin_entity_notify(middle);
  rospin_entity_notify(middle);
  rospin_entity_notify(high);
  CHECK(spin(f.executor, ROSPIN_SPIN_ALL) == ROSPIN_OK);
  CHECK(strcmp(ran(), "bca") == 0);
  rospin_entity_destroy(low);
  rospin_entity_destroy(middle);
  rospin_entity_destroy(high);
  CHECK(a.drops == 1 && b.drops == 1 && c.drops == 1);
  fixture_end(&f);
}

/* The later callback of the more critical chain comes first. What is in no chain comes last. */
static void chains_give_priorities(void) {
  const char *const drive[] = {"a", "b"};
  const char *const map[] = {"c", "d"};
  rospin_chain chains[] = {{.name = "map", .criticality = 1, .entities = map, .entities_count = 2},
                           {.name = "drive", .criticality = 2, .entities = drive, .entities_count = 2}};
  rospin_context_options options = {.struct_size = sizeof(options), .chains = chains, .chains_count = 2};
  rospin_context *context;
  CHECK(rospin_context_create(&options, &context) == ROSPIN_OK);
  rospin_executor_options main = {.struct_size = sizeof(main), .name = "main"};
  rospin_executor *executor;
  CHECK(rospin_executor_create(context, &main, &executor) == ROSPIN_OK);
  rospin_group_options in = {.struct_size = sizeof(in), .name = "group"};
  rospin_group *group;
  CHECK(rospin_group_create(executor, &in, &group) == ROSPIN_OK);
  const char *const names[] = {"e", "a", "b", "c", "d"};
  struct counted counted[5] = {0};
  rospin_entity *entities[5];
  for (int i = 0; i < 5; i++) {
    entities[i] = counted_new(group, names[i], 0, &counted[i]);
    rospin_entity_notify(entities[i]);
  }
  CHECK(spin(executor, ROSPIN_SPIN_ALL) == ROSPIN_OK);
  CHECK(strcmp(ran(), "badce") == 0);
  /* Handles may go in any order. */
  rospin_context_destroy(context);
  rospin_executor_destroy(executor);
  rospin_group_destroy(group);
  for (int i = 0; i < 5; i++) {
    CHECK(counted[i].drops == 1);
    rospin_entity_notify(entities[i]);
    rospin_entity_destroy(entities[i]);
  }
}

static void arrivals_decide_among_equals(void) {
  struct fixture f = fixture_new("fifo", 1);
  struct counted a = {0}, b = {0};
  rospin_entity *first = counted_new(f.group, "a", 0, &a);
  rospin_entity *second = counted_new(f.group, "b", 0, &b);
  rospin_notifier *notifiers[2];
  CHECK(rospin_notifier_create(first, &notifiers[0]) == ROSPIN_OK);
  CHECK(rospin_notifier_create(second, &notifiers[1]) == ROSPIN_OK);
  CHECK(spin(f.executor, ROSPIN_SPIN_ALL) == ROSPIN_OK);
  rospin_clock_advance(f.clock, 20 * MS);
  CHECK(rospin_context_now(f.context) == 20 * MS);
  rospin_notifier_notify_at(notifiers[0], 15 * MS);
  rospin_notifier_notify_at(notifiers[1], 10 * MS);
  CHECK(spin(f.executor, ROSPIN_SPIN_ALL) == ROSPIN_OK);
  CHECK(strcmp(ran(), "ba") == 0);
  rospin_entity_destroy(first);
  rospin_notifier_notify(notifiers[0]);
  rospin_notifier_notify(notifiers[1]);
  CHECK(spin(f.executor, ROSPIN_SPIN_ALL) == ROSPIN_OK);
  CHECK(strcmp(ran(), "b") == 0);
  rospin_notifier_destroy(notifiers[0]);
  rospin_entity_destroy(second);
  fixture_end(&f);
  rospin_notifier_notify(notifiers[1]);
  rospin_notifier_destroy(notifiers[1]);
}

static void deadlines_decide_and_are_judged(void) {
  struct fixture f = fixture_new("edf", 1);
  struct counted data[2] = {{.letter = 'a'}, {.letter = 'b'}};
  rospin_entity *entities[2];
  rospin_source source = {.struct_size = sizeof(source), .run = counted_run, .drop = counted_drop};
  rospin_entity_options options = {.struct_size = sizeof(options), .name = "deadline", .kind = ROSPIN_KIND_SERVICE};
  for (int i = 0; i < 2; i++) {
    options.deadline_ns = (20 - 10 * i) * MS;
    source.data = &data[i];
    CHECK(rospin_entity_create(f.group, &options, &source, &entities[i]) == ROSPIN_OK);
  }
  CHECK(spin(f.executor, ROSPIN_SPIN_ALL) == ROSPIN_OK);
  rospin_entity_notify(entities[0]);
  rospin_entity_notify(entities[1]);
  rospin_clock_advance(f.clock, 15 * MS);
  CHECK(spin(f.executor, ROSPIN_SPIN_ALL) == ROSPIN_OK);
  CHECK(strcmp(ran(), "ba") == 0);
  CHECK(rospin_entity_missed_deadlines(entities[0]) == 0 && rospin_entity_missed_deadlines(entities[1]) == 1);
  rospin_entity_destroy(entities[0]);
  rospin_entity_destroy(entities[1]);
  fixture_end(&f);
}

void test_order(void) {
  priorities_decide();
  chains_give_priorities();
  arrivals_decide_among_equals();
  deadlines_decide_and_are_judged();
}

/* ---- items ---- */

/* Results of `take`, one after the other, and the items that ran. */
struct script {
  const int32_t *results;
  size_t taken;
  size_t ran;
  size_t drops;
  uintptr_t items[8];
};

static int32_t take(void *data, rospin_taken *taken) {
  struct script *script = data;
  taken->item = (void *)(uintptr_t)(100 + script->taken);
  taken->next_arrival_ns = 5;
  return script->results[script->taken++];
}

static int32_t run(void *data, void *item) {
  struct script *script = data;
  script->items[script->ran++] = (uintptr_t)item;
  return 0;
}

static void drop(void *data) {
  struct script *script = data;
  script->drops++;
}

static atomic_int warnings;
static char message[256];

static void log_message(void *data, int32_t level, const char *text) {
  CHECK(data == &warnings && level <= ROSPIN_LOG_WARN);
  snprintf(message, sizeof(message), "%s", text);
  atomic_fetch_add(&warnings, 1);
}

static struct script play(const int32_t *results, int32_t group_is_reentrant, int notifications) {
  struct fixture f = fixture_new(NULL, 1);
  rospin_group_options in = {.struct_size = sizeof(in), .name = "items", .is_reentrant = group_is_reentrant};
  rospin_group *group;
  CHECK(rospin_group_create(f.executor, &in, &group) == ROSPIN_OK);
  struct script script = {.results = results};
  rospin_source source = {.struct_size = sizeof(source), .data = &script, .take = take, .run = run, .drop = drop};
  rospin_entity_options options = {
      .struct_size = sizeof(options), .name = "items", .kind = ROSPIN_KIND_SUBSCRIPTION, .depth = 8};
  rospin_entity *entity;
  CHECK(rospin_entity_create(group, &options, &source, &entity) == ROSPIN_OK);
  CHECK(spin(f.executor, ROSPIN_SPIN_ALL) == ROSPIN_OK);
  for (int i = 0; i < notifications; i++) {
    rospin_entity_notify(entity);
    CHECK(spin(f.executor, ROSPIN_SPIN_ALL) == ROSPIN_OK);
  }
  rospin_group_destroy(group);
  rospin_entity_destroy(entity);
  CHECK(script.drops == 1);
  fixture_end(&f);
  return script;
}

void test_items(void) {
  for (int reentrant = 0; reentrant < 2; reentrant++) {
    const int32_t until_empty[] = {ROSPIN_TAKE_MORE, ROSPIN_TAKE_NEXT, ROSPIN_TAKE_MORE, ROSPIN_TAKE_EMPTY};
    struct script script = play(until_empty, reentrant, 0);
    CHECK(script.taken == 4 && script.ran == 3 && script.items[0] == 100 && script.items[2] == 102);
    /* A source that knows that it has no more is not asked in vain. */
    const int32_t last[] = {ROSPIN_TAKE_EMPTY, ROSPIN_TAKE_LAST, ROSPIN_TAKE_LAST};
    script = play(last, reentrant, 2);
    CHECK(script.taken == 3 && script.ran == 2 && script.items[1] == 102);
    const int32_t closed[] = {ROSPIN_TAKE_MORE, ROSPIN_TAKE_CLOSED};
    script = play(closed, reentrant, 3);
    CHECK(script.taken == 2 && script.ran == 1);

    CHECK(rospin_set_log(log_message, &warnings, ROSPIN_LOG_WARN) == ROSPIN_OK);
    const int32_t failed[] = {ROSPIN_TAKE_FAILED, ROSPIN_TAKE_MORE, 99, ROSPIN_TAKE_EMPTY};
    script = play(failed, reentrant, 0);
    CHECK(script.taken == 4 && script.ran == 1 && script.items[0] == 101);
    CHECK(warnings == 2 * (reentrant + 1) && strstr(message, "items") && strstr(message, "99"));
    CHECK(rospin_set_log(NULL, NULL, ROSPIN_LOG_WARN) == ROSPIN_OK);
    CHECK(rospin_set_log(NULL, NULL, 9) == ROSPIN_ERROR_INVALID);
  }
}
