/* Asks the library what it knows and has no functions for: if a reader elsewhere listens to a writer already, if a writer elsewhere
 * knows of a reader already, if a writer has lost messages, and the number of its next message. And has a reader ask for messages at once. */
#include <string.h>

#include "dds__entity.h"
#include "dds__types.h"
#include "ddsi__endpoint.h"
#include "ddsi__endpoint_match.h"
#include "ddsi__entity_index.h"
#include "ddsi__proxy_endpoint.h"
#include "ddsi__xevent.h"
#include "dds/ddsi/ddsi_thread.h"
#include "dds/ddsi/ddsi_guid.h"
#include "dds/ddsi/ddsi_proxy_endpoint.h"
#include "rospin_dds.h"

int32_t rospin_dds_is_heard (int32_t writer, uint64_t reader)
{
  struct dds_entity *entity;
  int32_t is_heard = 1;
  if (dds_entity_pin (writer, &entity) < 0)
    return is_heard;
  if (dds_entity_kind (entity) == DDS_KIND_WRITER)
  {
    struct ddsi_writer *own = ((struct dds_writer *) entity)->m_wr;
    struct ddsi_domaingv *domain = &entity->m_domain->gv;
    ddsrt_avl_iter_t it;
    /* While it is awake, readers stay where they are. */
    ddsi_thread_state_awake (ddsi_lookup_thread_state (), domain);
    ddsrt_mutex_lock (&own->e.lock);
    for (const struct ddsi_wr_prd_match *match = ddsrt_avl_iter_first (&ddsi_wr_readers_treedef, &own->readers, &it); match != NULL; match = ddsrt_avl_iter_next (&it))
    {
      const struct ddsi_proxy_reader *found = ddsi_entidx_lookup_proxy_reader_guid (domain->entity_index, &match->prd_guid);
      if (found != NULL && found->e.iid == reader)
        is_heard = match->has_replied_to_hb;
    }
    ddsrt_mutex_unlock (&own->e.lock);
    ddsi_thread_state_asleep (ddsi_lookup_thread_state ());
  }
  dds_entity_unpin (entity);
  return is_heard;
}

int32_t rospin_dds_has_overwritten (int32_t writer)
{
  struct dds_entity *entity;
  int32_t has_overwritten = 0;
  if (dds_entity_pin (writer, &entity) < 0)
    return has_overwritten;
  if (dds_entity_kind (entity) == DDS_KIND_WRITER)
  {
    struct ddsi_writer *own = ((struct dds_writer *) entity)->m_wr;
    ddsrt_mutex_lock (&own->e.lock);
    has_overwritten = own->overwritten_count > 0;
    ddsrt_mutex_unlock (&own->e.lock);
  }
  dds_entity_unpin (entity);
  return has_overwritten;
}

uint64_t rospin_dds_next_number (int32_t writer)
{
  struct dds_entity *entity;
  uint64_t number = 0;
  if (dds_entity_pin (writer, &entity) < 0)
    return number;
  if (dds_entity_kind (entity) == DDS_KIND_WRITER)
  {
    struct ddsi_writer *own = ((struct dds_writer *) entity)->m_wr;
    ddsrt_mutex_lock (&own->e.lock);
    number = own->seq + 1;
    ddsrt_mutex_unlock (&own->e.lock);
  }
  dds_entity_unpin (entity);
  return number;
}

void rospin_dds_abandon (int32_t writer)
{
  struct dds_entity *entity;
  if (dds_entity_pin (writer, &entity) < 0)
    return;
  if (dds_entity_kind (entity) == DDS_KIND_WRITER)
  {
    struct ddsi_domaingv *domain = &entity->m_domain->gv;
    ddsi_thread_state_awake (ddsi_lookup_thread_state (), domain);
    (void) ddsi_delete_writer_nolinger (domain, &entity->m_guid);
    ddsi_thread_state_asleep (ddsi_lookup_thread_state ());
  }
  dds_entity_unpin (entity);
}

int32_t rospin_dds_is_known (int32_t reader, const uint8_t writer[16])
{
  struct dds_entity *entity;
  int32_t is_known = 1;
  if (dds_entity_pin (reader, &entity) < 0)
    return is_known;
  if (dds_entity_kind (entity) == DDS_KIND_READER)
  {
    struct ddsi_reader *own = ((struct dds_reader *) entity)->m_rd;
    struct ddsi_domaingv *domain = &entity->m_domain->gv;
    ddsi_guid_t guid;
    DDSRT_STATIC_ASSERT (sizeof (guid) == 16);
    memcpy (&guid, writer, sizeof (guid));
    guid = ddsi_ntoh_guid (guid);
    /* While it is awake, writers stay where they are. */
    ddsi_thread_state_awake (ddsi_lookup_thread_state (), domain);
    struct ddsi_proxy_writer *found = ddsi_entidx_lookup_proxy_writer_guid (domain->entity_index, &guid);
    if (found != NULL && found->c.xqos->reliability.kind != DDS_RELIABILITY_BEST_EFFORT)
    {
      ddsrt_mutex_lock (&found->e.lock);
      const struct ddsi_pwr_rd_match *match = ddsrt_avl_lookup (&ddsi_pwr_readers_treedef, &found->readers, &own->e.guid);
      /* The match is entered a moment after it is told. */
      is_known = match != NULL && match->t_heartbeat_accepted.v != 0;
      ddsrt_mutex_unlock (&found->e.lock);
    }
    ddsi_thread_state_asleep (ddsi_lookup_thread_state ());
  }
  dds_entity_unpin (entity);
  return is_known;
}

/* The most writers that are asked at a time. */
#define ASKED_MAX 64

/* Asks one writer, if it is there. */
static void ask_writer (const struct ddsi_domaingv *domain, const ddsi_guid_t *writer, const ddsi_guid_t *reader)
{
  struct ddsi_proxy_writer *found = ddsi_entidx_lookup_proxy_writer_guid (domain->entity_index, writer);
  if (found == NULL)
    return;
  ddsrt_mutex_lock (&found->e.lock);
  struct ddsi_pwr_rd_match *match = ddsrt_avl_lookup (&ddsi_pwr_readers_treedef, &found->readers, reader);
  if (match != NULL && match->acknack_xevent != NULL)
  {
    /* Otherwise the library waits for a tenth of a second before it asks for the same message again. */
    match->t_last_nack.v = 0;
    (void) ddsi_resched_xevent_if_earlier (match->acknack_xevent, ddsrt_time_monotonic ());
  }
  ddsrt_mutex_unlock (&found->e.lock);
}

void rospin_dds_ask_again (int32_t reader)
{
  struct dds_entity *entity;
  if (dds_entity_pin (reader, &entity) < 0)
    return;
  if (dds_entity_kind (entity) == DDS_KIND_READER)
  {
    struct ddsi_reader *own = ((struct dds_reader *) entity)->m_rd;
    const struct ddsi_domaingv *domain = &entity->m_domain->gv;
    ddsi_guid_t writers[ASKED_MAX];
    const struct ddsi_rd_pwr_match *match;
    ddsi_guid_t last;
    uint32_t count;
    memset (&last, 0, sizeof (last));
    /* While it is awake, writers stay where they are. */
    ddsi_thread_state_awake (ddsi_lookup_thread_state (), &entity->m_domain->gv);
    do
    {
      /* A writer's lock is not taken under that of a reader. */
      count = 0;
      ddsrt_mutex_lock (&own->e.lock);
      match = ddsrt_avl_lookup_succ (&ddsi_rd_writers_treedef, &own->writers, &last);
      for (; match != NULL && count < ASKED_MAX; match = ddsrt_avl_find_succ (&ddsi_rd_writers_treedef, &own->writers, match))
        writers[count++] = match->pwr_guid;
      ddsrt_mutex_unlock (&own->e.lock);
      for (uint32_t i = 0; i < count; i++)
        ask_writer (domain, &writers[i], &own->e.guid);
      if (count > 0)
        last = writers[count - 1];
    } while (count == ASKED_MAX);
    ddsi_thread_state_asleep (ddsi_lookup_thread_state ());
  }
  dds_entity_unpin (entity);
}
