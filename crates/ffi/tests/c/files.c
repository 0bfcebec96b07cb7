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
  mistakes_in_files_are_told(folder);
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
  CHECK(rospin_trace_stop() == ROSPIN_OK);
}
