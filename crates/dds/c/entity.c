/* Domains, participants, topics, readers and writers. */
#include <stdlib.h>
#include <string.h>

#include "inside.h"

/* The most messages that a writer which keeps all has for late readers: as many as in a process. */
#define KEEP_ALL 8192

const char *rospin_dds_error (int32_t code)
{
  return dds_strretcode (code);
}

int32_t rospin_dds_create_domain (uint32_t id, const char *config)
{
  return dds_create_domain (id, config);
}

int32_t rospin_dds_create_participant (uint32_t domain, const void *user_data, size_t size, const struct rospin_dds_property *properties, size_t count)
{
  dds_qos_t *qos = dds_create_qos ();
  dds_qset_userdata (qos, user_data, size);
  for (size_t i = 0; i < count; i++)
    dds_qset_prop (qos, properties[i].name, properties[i].value);
  const dds_entity_t participant = dds_create_participant (domain, qos, NULL);
  dds_delete_qos (qos);
  return participant;
}

int32_t rospin_dds_create_topic (int32_t participant, const char *name, const char *type_name, const struct ddsi_sertype **type)
{
  struct ddsi_sertype *own = rospin_dds_new_type (type_name);
  if (own == NULL)
    return DDS_RETCODE_OUT_OF_RESOURCES;
  struct ddsi_sertype *used = own;
  const dds_entity_t topic = dds_create_topic_sertype (participant, name, &used, NULL, NULL, NULL);
  if (topic < 0)
    ddsi_sertype_unref (own);
  else
    *type = used;
  return topic;
}

static dds_qos_t *qos_of (const struct rospin_dds_qos *from)
{
  dds_qos_t *qos = dds_create_qos ();
  const dds_history_kind_t history = from->depth > 0 ? DDS_HISTORY_KEEP_LAST : DDS_HISTORY_KEEP_ALL;
  const int32_t depth = from->depth > 0 ? from->depth : DDS_LENGTH_UNLIMITED;
  dds_qset_history (qos, history, depth);
  dds_qset_reliability (qos, from->reliable ? DDS_RELIABILITY_RELIABLE : DDS_RELIABILITY_BEST_EFFORT, from->blocking);
  dds_qset_writer_data_lifecycle (qos, false);
  dds_qset_deadline (qos, from->deadline);
  dds_qset_lifespan (qos, from->lifespan);
  dds_qset_liveliness (qos, from->manual ? DDS_LIVELINESS_MANUAL_BY_TOPIC : DDS_LIVELINESS_AUTOMATIC, from->lease);
  if (from->ignores_own)
    dds_qset_ignorelocal (qos, DDS_IGNORELOCAL_PARTICIPANT);
  if (from->transient_local)
  {
    dds_qset_durability (qos, DDS_DURABILITY_TRANSIENT_LOCAL);
    /* History for late readers; it is apart from what is kept until it has arrived. */
    const int32_t kept = from->depth > 0 ? from->depth : KEEP_ALL;
    dds_qset_durability_service (qos, 0, DDS_HISTORY_KEEP_LAST, kept, DDS_LENGTH_UNLIMITED, DDS_LENGTH_UNLIMITED, DDS_LENGTH_UNLIMITED);
  }
  else
    dds_qset_durability (qos, DDS_DURABILITY_VOLATILE);
  dds_qset_userdata (qos, from->user_data, from->user_data_size);
  return qos;
}

static void on_publication_matched (dds_entity_t writer, const dds_publication_matched_status_t status, void *argument)
{
  const struct rospin_dds_listener *listener = argument;
  (void) writer;
  if (status.current_count_change != 0)
    listener->matched (listener->target, status.last_subscription_handle, status.current_count_change > 0);
}

static void on_subscription_matched (dds_entity_t reader, const dds_subscription_matched_status_t status, void *argument)
{
  const struct rospin_dds_listener *listener = argument;
  (void) reader;
  if (status.current_count_change != 0)
    listener->matched (listener->target, status.last_publication_handle, status.current_count_change > 0);
}

static void on_offered_incompatible (dds_entity_t writer, const dds_offered_incompatible_qos_status_t status, void *argument)
{
  const struct rospin_dds_listener *listener = argument;
  (void) writer;
  listener->incompatible (listener->target, status.last_policy_id);
}

static void on_requested_incompatible (dds_entity_t reader, const dds_requested_incompatible_qos_status_t status, void *argument)
{
  const struct rospin_dds_listener *listener = argument;
  (void) reader;
  listener->incompatible (listener->target, status.last_policy_id);
}

static void on_liveliness_changed (dds_entity_t reader, const dds_liveliness_changed_status_t status, void *argument)
{
  const struct rospin_dds_listener *listener = argument;
  (void) reader;
  listener->liveliness (listener->target, status.alive_count, status.not_alive_count);
}

int32_t rospin_dds_create_writer (int32_t participant, int32_t topic, const struct rospin_dds_qos *qos, const struct rospin_dds_listener *listener)
{
  dds_listener_t *told = dds_create_listener ((void *) listener);
  dds_lset_publication_matched (told, on_publication_matched);
  dds_lset_offered_incompatible_qos (told, on_offered_incompatible);
  dds_qos_t *wanted = qos_of (qos);
  const dds_entity_t writer = dds_create_writer (participant, topic, wanted, told);
  dds_delete_qos (wanted);
  dds_delete_listener (told);
  return writer;
}

int32_t rospin_dds_create_reader (int32_t participant, int32_t topic, const struct rospin_dds_qos *qos, const struct rospin_dds_listener *listener, const struct rospin_dds_receiver *receiver)
{
  struct dds_rhc *history = rospin_dds_new_history (receiver);
  if (history == NULL)
  {
    receiver->forget (receiver->target);
    return DDS_RETCODE_OUT_OF_RESOURCES;
  }
  dds_listener_t *told = dds_create_listener ((void *) listener);
  dds_lset_subscription_matched (told, on_subscription_matched);
  dds_lset_requested_incompatible_qos (told, on_requested_incompatible);
  dds_lset_liveliness_changed (told, on_liveliness_changed);
  dds_qos_t *wanted = qos_of (qos);
  const dds_entity_t reader = dds_create_reader_rhc (participant, topic, wanted, told, history);
  if (reader < 0)
    rospin_dds_free_history (history);
  dds_delete_qos (wanted);
  dds_delete_listener (told);
  return reader;
}

int32_t rospin_dds_delete (int32_t entity)
{
  return dds_delete (entity);
}

int32_t rospin_dds_assert_liveliness (int32_t writer)
{
  return dds_assert_liveliness (writer);
}

int32_t rospin_dds_guid (int32_t entity, uint8_t guid[16])
{
  dds_guid_t found;
  const dds_return_t code = dds_get_guid (entity, &found);
  if (code == DDS_RETCODE_OK)
    memcpy (guid, found.v, sizeof (found.v));
  return code;
}

int32_t rospin_dds_instance_handle (int32_t entity, uint64_t *handle)
{
  return dds_get_instance_handle (entity, handle);
}
