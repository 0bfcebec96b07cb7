/* The functions that src/cyclone/ffi.rs declares once more for Rust, in types that both languages have.
 *
 * Cyclone DDS asks whoever brings an encoding of his own to fill in structures of the library's. Here a C compiler does it,
 * from the library's own headers. Functions that return `int32_t` return an entity or zero if all went well, and one of the
 * library's negative codes otherwise. None of them calls back but where it says so. */
#ifndef ROSPIN_DDS_H
#define ROSPIN_DDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ddsi_sertype;
struct dds_qos;

/* A message as it travels: encapsulation header and payload. Counted: whoever is given one drops it in the end. */
struct rospin_dds_sample;

/* An identity beside a message, which says to which request it belongs. A request has the id of the reader that awaits the
 * response, and any number; its response has the same id, and the number of the request among those of its writer. */
struct rospin_dds_identity {
  uint8_t guid[16];
  int64_t number;
};

/* Frees bytes that a sample was made of. */
typedef void (*rospin_dds_free_fn) (void *bytes, size_t capacity);

const uint8_t *rospin_dds_sample_bytes (const struct rospin_dds_sample *sample, size_t *size);
/* Its number among those of its writer; zero if it did not come over the network. Nothing is missing there. */
uint64_t rospin_dds_sample_number (const struct rospin_dds_sample *sample);
/* Nanoseconds since 1970 on the writer's clock; negative if it did not tell. */
int64_t rospin_dds_sample_time (const struct rospin_dds_sample *sample);
/* The identity beside a message that came over the network or from this process; NULL if it has none. */
const struct rospin_dds_identity *rospin_dds_sample_related (const struct rospin_dds_sample *sample);
void rospin_dds_sample_drop (struct rospin_dds_sample *sample);

/* Quality of service of a reader or writer. */
struct rospin_dds_qos {
  int32_t reliable;
  int32_t transient_local;
  /* Keep last so many; zero keeps all. */
  int32_t depth;
  /* Not 0: ends of the same participant are not matched. */
  int32_t ignores_own;
  /* Not 0: a writer's program gives the signs of life. */
  int32_t manual;
  /* Nanoseconds; the largest number is no limit. The lifespan is a writer's. */
  int64_t deadline;
  int64_t lifespan;
  int64_t lease;
  /* The longest that a reliable writer waits for room. */
  int64_t blocking;
  const void *user_data;
  size_t user_data_size;
};

/* Functions that are told of a reader's or writer's matches, on the library's threads or on one that is in a call of this library. */
struct rospin_dds_listener {
  void *target;
  /* Another end came or went; `peer` is its instance handle. */
  void (*matched) (void *target, uint64_t peer, int32_t came);
  /* Another end is there whose quality of service does not fit; which policy is the first not to. */
  void (*incompatible) (void *target, uint32_t policy);
  /* The numbers of a reader's matched writers that are alive, and that are not, have changed. Writers are not told. */
  void (*liveliness) (void *target, uint32_t alive, uint32_t not_alive);
};

/* Functions that receive a reader's messages. */
struct rospin_dds_receiver {
  void *target;
  /* A message came from the writer with this instance handle and this id, which is only lent. The sample is the receiver's. Its
   * lifespan ends in so many nanoseconds; the largest number is no limit. */
  void (*arrived) (void *target, struct rospin_dds_sample *sample, uint64_t writer, const uint8_t guid[16], int64_t lifespan);
  /* Returns false if there is no room for so many messages of a reliable writer. The writer keeps and sends them again then, after
   * `rospin_dds_ask_again` at the latest. NULL if there is always room. */
  bool (*has_room) (void *target, uint32_t count);
  /* The last use of the target: none of these functions is called any more. */
  void (*forget) (void *target);
};

/* A name and a value that a participant is created with. It stays in this process. */
struct rospin_dds_property {
  const char *name;
  const char *value;
};

/* Receives a line of what the library says, with its length; is_warning is zero if it is only information. */
typedef void (*rospin_dds_log_fn) (int32_t is_warning, const char *line, size_t size);
/* From now on the library passes what it says to this function, on any thread. */
void rospin_dds_log_to (rospin_dds_log_fn log);

const char *rospin_dds_error (int32_t code);
int32_t rospin_dds_create_domain (uint32_t id, const char *config);
int32_t rospin_dds_create_participant (uint32_t domain, const void *user_data, size_t size, const struct rospin_dds_property *properties, size_t count);
/* On success `type` is what the topic's samples are made with; it lives as long as a writer of the topic. */
int32_t rospin_dds_create_topic (int32_t participant, const char *name, const char *type_name, const struct ddsi_sertype **type);
int32_t rospin_dds_create_writer (int32_t participant, int32_t topic, const struct rospin_dds_qos *qos, const struct rospin_dds_listener *listener);
/* The receiver is forgotten when the reader is deleted, or before this returns an error. */
int32_t rospin_dds_create_reader (int32_t participant, int32_t topic, const struct rospin_dds_qos *qos, const struct rospin_dds_listener *listener, const struct rospin_dds_receiver *receiver);
/* Waits for calls of its listener and receiver; there are none once it has returned. */
int32_t rospin_dds_delete (int32_t entity);
/* Ends a writer at once, though readers may not have confirmed what it has written. It must not be used any more, only deleted. */
void rospin_dds_abandon (int32_t writer);
/* Gives a sign of life of a writer. */
int32_t rospin_dds_assert_liveliness (int32_t writer);
int32_t rospin_dds_guid (int32_t entity, uint8_t guid[16]);
int32_t rospin_dds_instance_handle (int32_t entity, uint64_t *handle);

/* Returns zero if that reader is reliable, elsewhere, and has not answered the writer yet, and one otherwise. It asks later for
 * what is written before it answers, as far as the writer still has it. */
int32_t rospin_dds_is_heard (int32_t writer, uint64_t reader);

/* Returns one if a reliable reader elsewhere has asked for a message that it has not got, and in whose place the writer's history has a
 * newer one. */
int32_t rospin_dds_has_overwritten (int32_t writer);

/* Returns zero if that writer is reliable, elsewhere, and has sent the reader no heartbeat yet: it may not know of the reader, and what
 * it writes now may be lost. */
int32_t rospin_dds_is_known (int32_t reader, const uint8_t writer[16]);

/* What is known of a writer that waits for its readers; all zero at first, and only `rospin_dds_pace` uses it. */
struct rospin_dds_pace {
  /* The number of the message after which readers were asked last. */
  uint64_t asked;
  /* One more than the number of answers of readers when they did not answer in time. */
  uint64_t stuck;
  /* The time of the last call. */
  int64_t last;
};

/* Waits, before a message of so many bytes is written, while more is on its way to reliable readers of this machine than the buffers of
 * their sockets hold; for so many nanoseconds at most. It does not wait if the last call was long ago, or for readers that have not
 * answered. */
void rospin_dds_pace (int32_t writer, size_t size, struct rospin_dds_pace *state, int64_t patience);

/* Waits until a reliable writer has room, for so many nanoseconds at most: until it writes without waiting, and overwrites nothing that
 * a reader elsewhere has not confirmed. Returns zero if it has none. */
int32_t rospin_dds_wait_for_room (int32_t writer, int64_t patience);

/* Has the reader ask its writers for what it had no room for. */
void rospin_dds_ask_again (int32_t reader);

/* Reads the identity in the parameters that precede a message. */
bool rospin_dds_read_identity (const unsigned char *parameters, size_t size, bool is_little, struct rospin_dds_identity *identity);

/* The number that the writer's next message has, unless another thread sends one meanwhile; zero if the writer is gone. */
uint64_t rospin_dds_next_number (int32_t writer);

/* Sends a copy of the bytes, encapsulation header first, with an identity beside it unless that is NULL. */
int32_t rospin_dds_write_copy (int32_t writer, const struct ddsi_sertype *type, const void *bytes, size_t size, const struct rospin_dds_identity *related);
/* Sends the bytes themselves, which have room for a size that is a multiple of four; they are freed by `free`, in any case. */
int32_t rospin_dds_write_adopt (int32_t writer, const struct ddsi_sertype *type, void *bytes, size_t size, size_t capacity, rospin_dds_free_fn free, const struct rospin_dds_identity *related);

/* A reader or writer anywhere in the domain, this participant's included. Where `is_alive` is zero only the ids are valid. */
struct rospin_dds_endpoint {
  uint64_t handle;
  uint8_t guid[16];
  int32_t is_alive;
  int32_t is_writer;
  const char *topic_name;
  const char *type_name;
  int32_t reliable;
  /* As in the standard: 0 volatile, 1 transient local, 2 transient, 3 persistent. */
  int32_t durability;
  /* Zero keeps all, negative if it is not known. */
  int32_t depth;
  /* Not 0: a writer's program gives the signs of life. */
  int32_t manual;
  /* Nanoseconds; the largest number is no limit. */
  int64_t deadline;
  int64_t lifespan;
  int64_t lease;
  const void *user_data;
  size_t user_data_size;
};

/* Functions that are told of what discovery finds, as a listener is. */
struct rospin_dds_discovery {
  void *target;
  void (*endpoint) (void *target, const struct rospin_dds_endpoint *endpoint);
  /* A participant is there, or it and all it had has gone. */
  void (*participant) (void *target, const uint8_t guid[16], int32_t is_alive);
};

/* From now on tells of everything in the domain, beginning with what is there. `readers` are entities to be deleted: of
 * participants, readers and writers. */
int32_t rospin_dds_discover (int32_t participant, const struct rospin_dds_discovery *discovery, int32_t readers[3]);

#endif
