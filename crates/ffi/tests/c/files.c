/* Files: deployments, their templates, and recordings. */
#include "check.h"

static const char *path_of(const char *folder, const char *name) {
  static char path[512];
  snprintf(path, sizeof(path), "%s/%s", folder, name);
  return path;
}

static void write_file(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

static int32_t stop(void *data, void *item) {
  (void)item;
  atomic_fetch_add((atomic_int *)data, 1);
  return 3;
}

/* The file gives priorities, and puts a group on an executor of its own, which spins along. */
static void a_file_gives_priorities_and_executors(const char *folder) {
  char plan[512], template[512];
  snprintf(plan, sizeof(plan), "%s", path_of(folder, "plan.toml"));
  snprintf(template, sizeof(template), "%s", path_of(folder, "template.toml"));
  write_file(plan, "executor = [{ name = 'main' }, { name = 'extra' }]\n"
                   "group = [{ name = 'moved', executor = 'extra' }]\n"
                   "callback = [{ name = 'a', priority = 1 }, { name = 'b', priority = 7 }]\n");
  const char *const files[] = {plan};
  rospin_context_options options = {.struct_size = sizeof(options),
                                    .deployment_files = files,
                                    .deployment_files_count = 1,
                                    .template_file = template};
  rospin_context *context;
  CHECK(rospin_context_create(&options, &context) == ROSPIN_OK);
  rospin_executor_options main = {.struct_size = sizeof(main), .name = "main"};
  rospin_executor *executor;
  CHECK(rospin_executor_create(context, &main, &executor) == ROSPIN_OK);
  rospin_group_options in = {.struct_size = sizeof(in), .name = "stays"};
  rospin_group *stays, *moved;
  CHECK(rospin_group_create(executor, &in, &stays) == ROSPIN_OK);
  in.name = "moved";
  CHECK(rospin_group_create(executor, &in, &moved) == ROSPIN_OK);
  struct counted a = {0}, b = {0};
  atomic_int stops = 0;
  rospin_entity *entities[3];
  entities[0] = counted_new(stays, "a", 5, &a);
  entities[1] = counted_new(stays, "b", 5, &b);
  rospin_source source = {.struct_size = sizeof(source), .data = &stops, .run = stop};
  rospin_entity_options named = {.struct_size = sizeof(named), .name = "stop", .kind = ROSPIN_KIND_SERVICE};
  CHECK(rospin_entity_create(moved, &named, &source, &entities[2]) == ROSPIN_OK);
  rospin_entity_notify(entities[0]);
  rospin_entity_notify(entities[1]);
  CHECK(spin(executor, ROSPIN_SPIN_ALL) == ROSPIN_OK);
  CHECK(strcmp(ran(), "ba") == 0);
  /* Its status ends the spin of the executor that the program has put it on. */
  rospin_entity_notify(entities[2]);
  int32_t status = 0;
  rospin_spin_options until = {.struct_size = sizeof(until), .stop_status = &status};
  CHECK(rospin_executor_spin(executor, &until) == ROSPIN_STOPPED && status == 3 && stops == 1);
  FILE *file = fopen(template, "r");
  CHECK(file != NULL);
  char text[4096];
  text[fread(text, 1, sizeof(text) - 1, file)] = 0;
  CHECK(strstr(text, "name = \"moved\"") != NULL);
  fclose(file);
  for (int i = 0; i < 3; i++) {
    rospin_entity_destroy(entities[i]);
  }
  rospin_group_destroy(stays);
  rospin_group_destroy(moved);
  rospin_executor_destroy(executor);
  rospin_context_destroy(context);
}

static atomic_int warnings_of_image;

static void count_warnings(void *data, int32_t level, const char *message) {
  (void)data;
  if (level == ROSPIN_LOG_WARN && strstr(message, "image") != NULL) {
    atomic_fetch_add(&warnings_of_image, 1);
  }
}

/* Without `loads_later`, the first spin would fail. */
static void a_program_may_load_its_parts_later(const char *folder) {
  char plan[512], template[512];
  snprintf(plan, sizeof(plan), "%s", path_of(folder, "later.toml"));
  snprintf(template, sizeof(template), "%s", path_of(folder, "later_template.toml"));
  write_file(plan, "callback = [{ name = 'image', priority = 7 }]\n");
  const char *const files[] = {plan};
  rospin_context_options options = {.struct_size = sizeof(options),
                                    .deployment_files = files,
                                    .deployment_files_count = 1,
                                    .template_file = template,
                                    .loads_later = true};
  rospin_context *context;
  CHECK(rospin_context_create(&options, &context) == ROSPIN_OK);
  rospin_executor_options main = {.struct_size = sizeof(main), .name = "main"};
  rospin_executor *executor;
  CHECK(rospin_executor_create(context, &main, &executor) == ROSPIN_OK);
  CHECK(spin(executor, ROSPIN_SPIN_ALL) == ROSPIN_OK);
  rospin_set_log(count_warnings, NULL, ROSPIN_LOG_WARN);
  rospin_context_warn_of_unknown_names(context);
  CHECK(warnings_of_image == 1);
  rospin_group_options in = {.struct_size = sizeof(in), .name = "loaded"};
  rospin_group *group;
  CHECK(rospin_group_create(executor, &in, &group) == ROSPIN_OK);
  struct counted image = {0};
  rospin_entity *entity = counted_new(group, "image", 1, &image);
  rospin_context_warn_of_unknown_names(context);
  CHECK(warnings_of_image == 1);
  rospin_set_log(NULL, NULL, 0);
  CHECK(rospin_context_write_template(context) == ROSPIN_OK);
  CHECK(rospin_context_write_template(NULL) == ROSPIN_ERROR_INVALID);
  FILE *file = fopen(template, "r");
  CHECK(file != NULL);
  char text[4096];
  text[fread(text, 1, sizeof(text) - 1, file)] = 0;
  CHECK(strstr(text, "name = \"image\"") != NULL);
  fclose(file);
  rospin_entity_destroy(entity);
  rospin_group_destroy(group);
  rospin_executor_destroy(executor);
  rospin_context_destroy(context);
}

/* It may have ended early, so its names say nothing. */
static void a_program_that_never_spun_has_no_unknown_names(const char *folder) {
  char plan[512];
  snprintf(plan, sizeof(plan), "%s", path_of(folder, "never_spun.toml"));
  write_file(plan, "callback = [{ name = 'image', priority = 7 }]\n");
  const char *const files[] = {plan};
  rospin_context_options options = {
      .struct_size = sizeof(options), .deployment_files = files, .deployment_files_count = 1};
  rospin_set_log(count_warnings, NULL, ROSPIN_LOG_WARN);
  atomic_store(&warnings_of_image, 0);
  for (int loads_later = 0; loads_later < 2; loads_later++) {
    options.loads_later = loads_later == 1;
    rospin_context *context;
    CHECK(rospin_context_create(&options, &context) == ROSPIN_OK);
    rospin_executor_options main = {.struct_size = sizeof(main), .name = "main"};
    rospin_executor *executor;
    CHECK(rospin_executor_create(context, &main, &executor) == ROSPIN_OK);
    rospin_context_warn_of_unknown_names(context);
    rospin_executor_destroy(executor);
    rospin_context_destroy(context);
  }
  CHECK(warnings_of_image == 0);
  rospin_set_log(NULL, NULL, 0);
}

static void mistakes_in_files_are_told(const char *folder) {
  const char *const missing[] = {path_of(folder, "missing.toml")};
  rospin_context_options options = {
      .struct_size = sizeof(options), .deployment_files = missing, .deployment_files_count = 1};
  rospin_context *context = NULL;
  CHECK(rospin_context_create(&options, &context) == ROSPIN_ERROR_DEPLOYMENT && context == NULL);
  CHECK(strstr(rospin_last_error(), "missing.toml") != NULL);
  const char *wrong = path_of(folder, "wrong.toml");
  write_file(wrong, "executor = [{ name = 'main', policy = 'fair' }]\n");
  const char *const files[] = {wrong};
  options.deployment_files = files;
  CHECK(rospin_context_create(&options, &context) == ROSPIN_ERROR_DEPLOYMENT);
  CHECK(strstr(rospin_last_error(), "fair") != NULL);
}

void test_deployment(const char *folder) {
  a_file_gives_priorities_and_executors(folder);
  a_program_may_load_its_parts_later(folder);
  a_program_that_never_spun_has_no_unknown_names(folder);
  mistakes_in_files_are_told(folder);
}

static const uint8_t publisher[16] = {99, 1};

/* Its callback publishes what the next one takes. */
static int32_t publish(void *data, void *item) {
  (void)item;
  CHECK(rospin_trace_is_on());
  CHECK(rospin_trace_sent(publisher, 7, rospin_context_now(data)) == ROSPIN_OK);
  return 0;
}

static int32_t receive(void *data, rospin_taken *taken) {
  (void)taken;
  atomic_int *left = data;
  if (atomic_fetch_sub(left, 1) <= 0) {
    return ROSPIN_TAKE_EMPTY;
  }
  CHECK(rospin_trace_received(publisher, 7) == ROSPIN_OK);
  return ROSPIN_TAKE_LAST;
}

static int32_t nothing(void *data, void *item) {
  (void)data;
  (void)item;
  return 0;
}

static void publications_have_their_callbacks(void) {
  CHECK(rospin_trace_name_publisher(NULL, "/c") == ROSPIN_ERROR_INVALID);
  CHECK(rospin_trace_name_publisher(publisher, "/c") == ROSPIN_OK);
  CHECK(rospin_trace_name_publisher(publisher, "/c") == ROSPIN_OK);
  struct fixture f = fixture_new(NULL, 1);
  rospin_entity_options options = {.struct_size = sizeof(options), .name = "sends", .kind = ROSPIN_KIND_WAITABLE};
  rospin_source source = {.struct_size = sizeof(source), .data = f.context, .run = publish};
  rospin_entity *sends, *takes;
  CHECK(rospin_entity_create(f.group, &options, &source, &sends) == ROSPIN_OK);
  atomic_int left = 1;
  options.name = "takes";
  options.kind = ROSPIN_KIND_SUBSCRIPTION;
  rospin_source taking = {.struct_size = sizeof(taking), .data = &left, .take = receive, .run = nothing};
  CHECK(rospin_entity_create(f.group, &options, &taking, &takes) == ROSPIN_OK);
  rospin_entity_notify(sends);
  CHECK(spin(f.executor, ROSPIN_SPIN_ALL) == ROSPIN_OK);
  rospin_entity_notify(takes);
  CHECK(spin(f.executor, ROSPIN_SPIN_ALL) == ROSPIN_OK);
  rospin_entity_destroy(sends);
  rospin_entity_destroy(takes);
  fixture_end(&f);
}

/* The Rust part of the test reads the file. */
void test_trace(const char *folder) {
  CHECK(rospin_trace_start(path_of(folder, "no/such/folder.mcap")) == ROSPIN_ERROR_SYSTEM);
  CHECK(rospin_trace_start(path_of(folder, "asked.mcap")) == ROSPIN_OK);
  struct fixture f = fixture_new(NULL, 1);
  struct counted a = {0};
  rospin_entity *entity = counted_new(f.group, "asked", 4, &a);
  for (int i = 0; i < 5; i++) {
    rospin_entity_notify(entity);
    CHECK(spin(f.executor, ROSPIN_SPIN_ALL) == ROSPIN_OK);
  }
  CHECK(strcmp(ran(), "aaaaa") == 0);
  rospin_entity_destroy(entity);
  fixture_end(&f);
  publications_have_their_callbacks();
  CHECK(rospin_trace_forget_publisher(NULL) == ROSPIN_ERROR_INVALID);
  CHECK(rospin_trace_forget_publisher(publisher) == ROSPIN_OK);
  CHECK(rospin_trace_forget_publisher(publisher) == ROSPIN_OK);
  CHECK(rospin_trace_stop() == ROSPIN_OK);
  CHECK(!rospin_trace_is_on());
}
