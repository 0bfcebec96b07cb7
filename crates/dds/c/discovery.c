/* Discovery: the library tells of it on topics of its own. */
#include <string.h>

#include "inside.h"

/* The most samples that are taken at a time. */
#define A_TAKE 32

static void tell_endpoint (const struct rospin_dds_discovery *discovery, const dds_builtintopic_endpoint_t *found, const dds_sample_info_t *info, int32_t is_writer)
{
  struct rospin_dds_endpoint endpoint;
  void *user_data = NULL;
  memset (&endpoint, 0, sizeof (endpoint));
  endpoint.handle = info->instance_handle;
  endpoint.is_writer = is_writer;
  memcpy (endpoint.guid, found->key.v, sizeof (endpoint.guid));
  endpoint.is_alive = info->valid_data && info->instance_state == DDS_ALIVE_INSTANCE_STATE;
  if (endpoint.is_alive)
  {
    dds_reliability_kind_t reliability;
    dds_durability_kind_t durability;
    dds_history_kind_t history;
    dds_duration_t blocking;
    dds_liveliness_kind_t liveliness;
    int32_t depth;
    endpoint.topic_name = found->topic_name;
    endpoint.type_name = found->type_name;
    /* A policy that is not said has the standard's default. */
    endpoint.reliable = dds_qget_reliability (found->qos, &reliability, &blocking) ? reliability == DDS_RELIABILITY_RELIABLE : is_writer;
    endpoint.durability = dds_qget_durability (found->qos, &durability) ? (int32_t) durability : 0;
    endpoint.depth = -1;
    if (dds_qget_history (found->qos, &history, &depth))
      endpoint.depth = history == DDS_HISTORY_KEEP_LAST ? depth : 0;
    endpoint.deadline = endpoint.lifespan = endpoint.lease = DDS_INFINITY;
    (void) dds_qget_deadline (found->qos, &endpoint.deadline);
    (void) dds_qget_lifespan (found->qos, &endpoint.lifespan);
    if (dds_qget_liveliness (found->qos, &liveliness, &endpoint.lease))
      endpoint.manual = liveliness != DDS_LIVELINESS_AUTOMATIC;
    (void) dds_qget_userdata (found->qos, &user_data, &endpoint.user_data_size);
    endpoint.user_data = user_data;
  }
  discovery->endpoint (discovery->target, &endpoint);
  dds_free (user_data);
}

static void take_endpoints (dds_entity_t reader, const struct rospin_dds_discovery *discovery, int32_t is_writer)
{
  void *samples[A_TAKE] = { NULL };
  dds_sample_info_t infos[A_TAKE];
  int32_t count;
  while ((count = dds_take (reader, samples, infos, A_TAKE, A_TAKE)) > 0)
  {
    for (int32_t i = 0; i < count; i++)
      tell_endpoint (discovery, samples[i], &infos[i], is_writer);
    (void) dds_return_loan (reader, samples, count);
  }
}

static void on_writers (dds_entity_t reader, void *argument)
{
  take_endpoints (reader, argument, 1);
}

static void on_readers (dds_entity_t reader, void *argument)
{
  take_endpoints (reader, argument, 0);
}

static void on_participants (dds_entity_t reader, void *argument)
{
  const struct rospin_dds_discovery *discovery = argument;
  void *samples[A_TAKE] = { NULL };
  dds_sample_info_t infos[A_TAKE];
  int32_t count;
  while ((count = dds_take (reader, samples, infos, A_TAKE, A_TAKE)) > 0)
  {
    for (int32_t i = 0; i < count; i++)
    {
      const dds_builtintopic_participant_t *found = samples[i];
      discovery->participant (discovery->target, found->key.v, infos[i].instance_state == DDS_ALIVE_INSTANCE_STATE);
    }
    (void) dds_return_loan (reader, samples, count);
  }
}

int32_t rospin_dds_discover (int32_t participant, const struct rospin_dds_discovery *discovery, int32_t readers[3])
{
  static const dds_entity_t topics[] = {
    DDS_BUILTIN_TOPIC_DCPSPARTICIPANT, DDS_BUILTIN_TOPIC_DCPSSUBSCRIPTION, DDS_BUILTIN_TOPIC_DCPSPUBLICATION
  };
  static const dds_on_data_available_fn told[] = { on_participants, on_readers, on_writers };
  for (int i = 0; i < 3; i++)
  {
    dds_listener_t *listener = dds_create_listener ((void *) discovery);
    dds_lset_data_available (listener, told[i]);
    readers[i] = dds_create_reader (participant, topics[i], NULL, listener);
    dds_delete_listener (listener);
    if (readers[i] < 0)
      return readers[i];
  }
  return DDS_RETCODE_OK;
}
