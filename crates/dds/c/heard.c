/* Asks the library what it knows of a writer and has no functions for: if a reader elsewhere listens to it already, and the number
 * of its next message. */
#include "dds__entity.h"
#include "dds__types.h"
#include "ddsi__endpoint.h"
#include "ddsi__endpoint_match.h"
#include "ddsi__entity_index.h"
#include "dds/ddsi/ddsi_thread.h"
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
