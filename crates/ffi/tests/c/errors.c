/* Errors: codes, their texts, and options of other versions of the header. */
#include "check.h"

static int32_t never_run(void *data, void *item) {
  (void)data;
  (void)item;
  abort();
}

static void no_handles(void) {
  rospin_context_destroy(NULL);
  rospin_executor_destroy(NULL);
  rospin_group_destroy(NULL);
  rospin_entity_destroy(NULL);
  rospin_notifier_destroy(NULL);
  rospin_clock_destroy(NULL);
  rospin_entity_notify(NULL);
  rospin_notifier_notify(NULL);
  rospin_notifier_notify_at(NULL, 0);
  rospin_notifier_count_lost(NULL, 1);
  rospin_executor_halt(NULL);
  rospin_executor_check(NULL);
  rospin_group_remove(NULL);
  rospin_clock_advance(NULL, 1);
  CHECK(rospin_context_now(NULL) == 0 && rospin_entity_missed_deadlines(NULL) == 0);
  CHECK(strcmp(rospin_entity_name(NULL), "") == 0);
  CHECK(rospin_context_create(NULL, NULL) == ROSPIN_ERROR_INVALID);
  CHECK(rospin_executor_spin(NULL, NULL) == ROSPIN_ERROR_INVALID);
  CHECK(strstr(rospin_last_error(), "executor") != NULL);
  CHECK(rospin_timer_update(NULL) == ROSPIN_ERROR_INVALID);
  rospin_notifier *notifier = NULL;
  CHECK(rospin_notifier_create(NULL, &notifier) == ROSPIN_ERROR_INVALID && notifier == NULL);
}

static void invalid_options(void) {
  struct fixture f = fixture_new(NULL, 1);
  rospin_executor *executor = NULL;
  rospin_executor_options options = {.struct_size = sizeof(options)};
  CHECK(rospin_executor_create(f.context, &options, &executor) == ROSPIN_ERROR_INVALID && executor == NULL);
  CHECK(strstr(rospin_last_error(), "`name` is missing") != NULL);
  options.name = "\xff";
  CHECK(rospin_executor_create(f.context, &options, &executor) == ROSPIN_ERROR_INVALID);
  CHECK(strstr(rospin_last_error(), "UTF-8") != NULL);
  options.name = "fair";
  options.policy = "fair";
  CHECK(rospin_executor_create(f.context, &options, &executor) == ROSPIN_ERROR_INVALID);
  CHECK(strstr(rospin_last_error(), "known are fifo, fixed-priority") != NULL);
  options.policy = "edf";
  options.struct_size = 0;
  CHECK(rospin_executor_create(f.context, &options, &executor) == ROSPIN_ERROR_INVALID);
  CHECK(strstr(rospin_last_error(), "sizeof(rospin_executor_options)") != NULL);

  CHECK(spin(f.executor, 17) == ROSPIN_ERROR_INVALID);
  const char *const names[] = {"a", NULL};
  rospin_chain chain = {.name = "chain", .entities = names, .entities_count = 2};
  rospin_context_options context = {.struct_size = sizeof(context), .chains = &chain, .chains_count = 1};
  rospin_context *other = NULL;
  CHECK(rospin_context_create(&context, &other) == ROSPIN_ERROR_INVALID && other == NULL);
  chain.entities = NULL;
  CHECK(rospin_context_create(&context, &other) == ROSPIN_ERROR_INVALID);
  CHECK(strstr(rospin_last_error(), "its count is 2") != NULL);
  fixture_end(&f);
}

/* A program with an older header has shorter options, one with a newer header longer ones. */
static void other_versions(void) {
  struct fixture f = fixture_new(NULL, 1);
  rospin_executor *executor = NULL;
  rospin_executor_options older = {.struct_size = offsetof(rospin_executor_options, policy), .name = "older"};
  older.policy = "this is behind the end";
  CHECK(rospin_executor_create(f.context, &older, &executor) == ROSPIN_OK);
  rospin_executor_destroy(executor);

  struct {
    rospin_executor_options known;
    uint64_t unknown;
  } newer = {{.struct_size = sizeof(newer), .name = "newer"}, 0};
  CHECK(rospin_executor_create(f.context, &newer.known, &executor) == ROSPIN_OK);
  rospin_executor_destroy(executor);
  newer.unknown = 1;
  CHECK(rospin_executor_create(f.context, &newer.known, &executor) == ROSPIN_ERROR_INVALID);
  CHECK(strstr(rospin_last_error(), "too old") != NULL);
  fixture_end(&f);
}

/* The data of an entity that could not be created are dropped. */
static void failed_entities(void) {
  struct fixture f = fixture_new(NULL, 1);
  struct counted data = {0};
  rospin_source source = {.struct_size = sizeof(source), .data = &data, .run = never_run, .drop = counted_drop};
  rospin_entity_options options = {.struct_size = sizeof(options), .kind = ROSPIN_KIND_CLIENT};
  rospin_entity *entity = NULL;
  CHECK(rospin_entity_create(f.group, &options, &source, &entity) == ROSPIN_ERROR_INVALID);
  CHECK(data.drops == 1);
  options.name = "entity";
  CHECK(rospin_entity_create(f.group, &options, &source, NULL) == ROSPIN_ERROR_INVALID);
  CHECK(data.drops == 2);
  CHECK(rospin_timer_create(f.group, &options, &source, &entity) == ROSPIN_ERROR_INVALID);
  CHECK(data.drops == 3 && strstr(rospin_last_error(), "next_due") != NULL);
  options.kind = ROSPIN_KIND_TIMER;
  CHECK(rospin_entity_create(f.group, &options, &source, &entity) == ROSPIN_ERROR_INVALID);
  CHECK(data.drops == 4 && strstr(rospin_last_error(), "rospin_timer_create()") != NULL);
  CHECK(rospin_fd_create(f.group, &options, -1, ROSPIN_FD_READABLE, &source, &entity) == ROSPIN_ERROR_INVALID);
  CHECK(rospin_fd_create(f.group, &options, 0, 64, &source, &entity) == ROSPIN_ERROR_INVALID);
  CHECK(data.drops == 6);
  options.kind = ROSPIN_KIND_CLIENT;
  rospin_group_remove(f.group);
  CHECK(rospin_entity_create(f.group, &options, &source, &entity) == ROSPIN_ERROR_GONE);
  CHECK(data.drops == 7 && strstr(rospin_last_error(), "group `group` was removed") != NULL);
  source.run = NULL;
  CHECK(rospin_entity_create(f.group, &options, &source, &entity) == ROSPIN_ERROR_INVALID);
  CHECK(entity == NULL);
  fixture_end(&f);
}

void test_errors(void) {
  no_handles();
  invalid_options();
  other_versions();
  failed_entities();
}
