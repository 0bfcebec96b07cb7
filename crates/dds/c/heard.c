/* Asks the library what it knows and has no functions for: if a reader elsewhere listens to a writer already, if a writer elsewhere
 * knows of a reader already, and the number of a writer's next message. */
#include <string.h>

#include "dds__entity.h"
#include "dds__types.h"
#include "ddsi__endpoint.h"
#include "ddsi__endpoint_match.h"
#include "ddsi__entity_index.h"
#include "ddsi__proxy_endpoint.h"
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
