/* File descriptors: pipes, and an eventfd. */
#include <sys/eventfd.h>
#include <unistd.h>

#include "check.h"

struct reader {
  int fd;
  atomic_int bytes;
  atomic_int hangups;
  atomic_int drops;
};

static int32_t read_one(void *data, void *item) {
  struct reader *reader = data;
  uintptr_t ready = (uintptr_t)item;
  char byte;
  if (ready & ROSPIN_FD_READABLE) {
    CHECK(read(reader->fd, &byte, 1) == 1);
    atomic_fetch_add(&reader->bytes, 1);
    order[atomic_fetch_add(&order_count, 1)] = byte;
  } else {
    CHECK(ready == ROSPIN_FD_HANGUP);
    atomic_fetch_add(&reader->hangups, 1);
  }
  return 0;
}

static void drop(void *data) {
  struct reader *reader = data;
  atomic_fetch_add(&reader->drops, 1);
}

static rospin_entity *reader_new(const rospin_group *group, uint32_t priority, struct reader *reader) {
  rospin_source source = {.struct_size = sizeof(source), .data = reader, .run = read_one, .drop = drop};
  rospin_entity_options options = {
      .struct_size = sizeof(options), .name = "reader", .has_priority = true, .priority = priority};
  rospin_entity *entity;
  CHECK(rospin_fd_create(group, &options, reader->fd, ROSPIN_FD_READABLE, &source, &entity) == ROSPIN_OK);
  return entity;
}

static void spin_once(const struct fixture *f) {
  CHECK(spin(f->executor, ROSPIN_SPIN_ONCE) == ROSPIN_OK);
}

static void pipes_are_read(bool is_reentrant) {
  struct fixture f = fixture_new(NULL, 2);
  rospin_group_options in = {.struct_size = sizeof(in), .name = "readers", .is_reentrant = is_reentrant};
  rospin_group *group;
  CHECK(rospin_group_create(f.executor, &in, &group) == ROSPIN_OK);
  int ends[2];
  CHECK(pipe(ends) == 0);
  struct reader reader = {.fd = ends[0]};
  rospin_entity *entity = reader_new(group, 1, &reader);
  CHECK(spin_ready(f.executor) == ROSPIN_TIMEOUT);
  CHECK(write(ends[1], "abc", 3) == 3);
  for (int i = 0; i < 3; i++) {
    spin_once(&f);
  }
  CHECK(strcmp(ran(), "abc") == 0);
  CHECK(close(ends[1]) == 0);
  spin_once(&f);
  CHECK(reader.hangups == 1);
  rospin_notifier *notifier;
  CHECK(rospin_notifier_create(entity, &notifier) == ROSPIN_ERROR_INVALID);
  rospin_entity_notify(entity);
  rospin_entity_destroy(entity);
  CHECK(reader.drops == 1);
  CHECK(close(ends[0]) == 0);
  rospin_group_destroy(group);
  fixture_end(&f);
}

static int32_t write_one(void *data, void *item) {
  CHECK((uintptr_t)item == ROSPIN_FD_WRITABLE);
  uint64_t one = 1;
  CHECK(write(*(int *)data, &one, sizeof(one)) == sizeof(one));
  return 7;
}

static void an_event_is_written(void) {
  struct fixture f = fixture_new(NULL, 1);
  int event = eventfd(0, EFD_NONBLOCK);
  rospin_source source = {.struct_size = sizeof(source), .data = &event, .run = write_one};
  rospin_entity_options options = {.struct_size = sizeof(options), .name = "writer"};
  rospin_entity *entity;
  CHECK(rospin_fd_create(f.group, &options, event, ROSPIN_FD_WRITABLE, &source, &entity) == ROSPIN_OK);
  CHECK(rospin_executor_spin(f.executor, NULL) == ROSPIN_STOPPED);
  rospin_entity_destroy(entity);
  uint64_t count;
  CHECK(read(event, &count, sizeof(count)) == sizeof(count) && count == 1);
  CHECK(close(event) == 0);
  fixture_end(&f);
}

static void a_file_cannot_be_watched(void) {
  struct fixture f = fixture_new(NULL, 1);
  FILE *file = tmpfile();
  CHECK(file != NULL);
  struct reader reader = {0};
  rospin_source source = {.struct_size = sizeof(source), .data = &reader, .run = read_one, .drop = drop};
  rospin_entity_options options = {.struct_size = sizeof(options), .name = "file"};
  rospin_entity *entity;
  CHECK(rospin_fd_create(f.group, &options, fileno(file), ROSPIN_FD_READABLE, &source, &entity) == ROSPIN_ERROR_SYSTEM);
  CHECK(strstr(rospin_last_error(), "not permitted") != NULL && reader.drops == 1);
  fclose(file);
  fixture_end(&f);
}

void test_descriptors(void) {
  pipes_are_read(false);
  pipes_are_read(true);
  an_event_is_written();
  a_file_cannot_be_watched();
}
