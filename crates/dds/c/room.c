/* Room of a reliable writer: what readers elsewhere have not confirmed yet, and waiting until they have. The library lets a writer that
 * keeps its last messages go on without a pause. What overflows the receive buffer of a reader's socket is to be sent again later, but
 * by then it is overwritten. */
#include "dds__entity.h"
#include "dds__types.h"
#include "ddsi__endpoint.h"
#include "ddsi__endpoint_match.h"
#include "ddsi__entity_index.h"
#include "ddsi__hbcontrol.h"
#include "ddsi__thread.h"
#include "ddsi__tran.h"
#include "ddsi__whc.h"
#include "ddsi__xevent.h"
#include "ddsi__xmsg.h"
#include "dds/ddsi/ddsi_proxy_endpoint.h"
#include "dds/ddsi/ddsi_thread.h"
#include "rospin_dds.h"

/* Bytes that a packet takes from a receive buffer besides its own, about. */
#define BESIDE 1280
/* A writer fills one part of so many of its readers' receive buffers, since several writers share them. */
#define PARTS 8
/* Readers are asked again after this time: a question or its answer may be lost. */
#define AGAIN DDS_MSECS (2)
/* A writer that comes again after a longer time is not fast: there is nothing to pace. */
#define FAST DDS_MSECS (20)
/* Readers of this machine that answer nothing for this time do not run. They do not repeat an answer within 10 ms. */
#define QUIET DDS_MSECS (25)

/* The number of messages that not all reliable readers have confirmed. */
static uint64_t unconfirmed (const struct ddsi_writer *own)
{
  const uint64_t confirmed = ddsi_writer_max_drop_seq (own);
  return own->seq > confirmed ? own->seq - confirmed : 0;
}

/* The number of answers of readers, also of those that ask for something again. */
static uint64_t answers (const struct ddsi_writer *own)
{
  return (uint64_t) own->num_acks_received + own->num_nacks_received;
}

/* Asks the readers what they have. The writer is locked, and the thread awake. */
static void ask_readers (struct ddsi_writer *own)
{
  struct ddsi_whc_state state;
  ddsi_whc_get_state (own->whc, &state);
  struct ddsi_xmsg *heartbeat = ddsi_writer_hbcontrol_create_heartbeat (own, &state, ddsrt_time_monotonic (), DDSI_HBC_ACK_REQ_YES, 0);
  if (heartbeat != NULL)
    ddsi_qxev_msg (own->evq, heartbeat);
}

/* Waits until readers have confirmed something, or for a while. Returns false if `end` has come. The writer is locked before and
 * afterwards, and the thread awake. */
static bool wait_for_answer (struct ddsi_writer *own, ddsrt_mtime_t end)
{
  ddsrt_mtime_t again = ddsrt_mtime_add_duration (ddsrt_time_monotonic (), AGAIN);
  if (again.v > end.v)
    again = end;
  ddsi_thread_state_asleep (ddsi_lookup_thread_state ());
  const bool is_told = ddsrt_cond_mtime_waituntil (&own->throttle_cond, &own->e.lock, again);
  ddsi_thread_state_awake_domain_ok (ddsi_lookup_thread_state ());
  if (is_told)
    return true;
  if (ddsrt_time_monotonic ().v >= end.v)
    return false;
  ask_readers (own);
  return true;
}

/* Returns how many bytes may be on their way to the readers before a further message; no limit if one of the readers is on another
 * machine, from which an answer takes its time. The writer is locked, and the thread awake, so that readers stay where they are. */
static uint64_t window_of (const struct ddsi_writer *own, const struct ddsi_domaingv *domain)
{
  uint64_t window = UINT64_MAX;
  ddsrt_avl_iter_t it;
  for (const struct ddsi_wr_prd_match *match = ddsrt_avl_iter_first (&ddsi_wr_readers_treedef, &own->readers, &it); match != NULL; match = ddsrt_avl_iter_next (&it))
  {
    const struct ddsi_proxy_reader *found = ddsi_entidx_lookup_proxy_reader_guid (domain->entity_index, &match->prd_guid);
    if (found == NULL)
      continue;
    if (ddsi_is_nearby_address (domain, &found->c.loc_uc.c, (size_t) domain->n_interfaces, domain->interfaces, NULL) != DNAR_SELF)
      return UINT64_MAX;
    if (found->receive_buffer_size / PARTS < window)
      window = found->receive_buffer_size / PARTS;
  }
  return window;
}

/* Paces a locked writer, on an awake thread. */
static void pace (struct ddsi_writer *own, const struct ddsi_domaingv *domain, uint64_t size, struct rospin_dds_pace *pace, int64_t patience)
{
  const uint64_t each = size + BESIDE;
  uint64_t waiting = unconfirmed (own);
  const ddsrt_mtime_t begin = ddsrt_time_monotonic ();
  if (waiting == 0 || begin.v - pace->last > FAST)
    return;
  const uint64_t window = window_of (own, domain);
  if (window == UINT64_MAX || waiting * each <= window / 2)
    return;
  if (pace->asked > own->seq || (own->seq - pace->asked) * each > window / 4)
  {
    pace->asked = own->seq;
    ask_readers (own);
  }
  const ddsrt_mtime_t end = ddsrt_mtime_add_duration (begin, patience);
  ddsrt_mtime_t quiet = ddsrt_mtime_add_duration (begin, QUIET);
  uint64_t heard = answers (own);
  /* Readers that do not answer make a writer wait once, and not before each message. */
  while (waiting * each > window && heard + 1 != pace->stuck)
  {
    const bool is_in_time = own->state == WRST_OPERATIONAL && wait_for_answer (own, quiet.v < end.v ? quiet : end);
    const uint64_t before = heard;
    heard = answers (own);
    waiting = unconfirmed (own);
    if (heard > before)
      quiet = ddsrt_mtime_add_duration (ddsrt_time_monotonic (), QUIET);
    else if (!is_in_time)
      pace->stuck = heard + 1;
    if (ddsrt_time_monotonic ().v >= end.v)
      return;
  }
}

void rospin_dds_pace (int32_t writer, size_t size, struct rospin_dds_pace *state, int64_t patience)
{
  struct dds_entity *entity;
  if (dds_entity_pin (writer, &entity) < 0)
    return;
  if (dds_entity_kind (entity) == DDS_KIND_WRITER)
  {
    struct ddsi_writer *own = ((struct dds_writer *) entity)->m_wr;
    struct ddsi_domaingv *domain = &entity->m_domain->gv;
    ddsi_thread_state_awake (ddsi_lookup_thread_state (), domain);
    ddsrt_mutex_lock (&own->e.lock);
    if (own->heartbeat_xevent != NULL)
      pace (own, domain, size, state, patience);
    state->last = ddsrt_time_monotonic ().v;
    ddsrt_mutex_unlock (&own->e.lock);
    ddsi_thread_state_asleep (ddsi_lookup_thread_state ());
  }
  dds_entity_unpin (entity);
}

/* How full a locked writer is: of so many messages or bytes there are so many. */
struct fill {
  uint64_t is;
  uint64_t of;
};

static struct fill fill_of (const struct ddsi_writer *own)
{
  if (own->xqos->history.kind == DDS_HISTORY_KEEP_LAST)
    return (struct fill) { .is = unconfirmed (own), .of = (uint64_t) own->xqos->history.depth };
  struct ddsi_whc_state state;
  ddsi_whc_get_state (own->whc, &state);
  /* It writes without waiting as long as there are no more bytes than that. */
  return (struct fill) { .is = state.unacked_bytes, .of = (uint64_t) own->whc_high + 1 };
}

/* Waits for room of a locked writer, on an awake thread. Returns true if there is some. */
static bool wait_for_room (struct ddsi_writer *own, int64_t patience)
{
  const ddsrt_mtime_t begin = ddsrt_time_monotonic ();
  const ddsrt_mtime_t end = ddsrt_mtime_add_duration (begin, patience);
  struct fill fill = fill_of (own);
  /* Readers confirm what they have when they are asked, or ten times a second. So they are asked before it is full. */
  if (2 * fill.is >= fill.of && begin.v - own->hbcontrol.t_of_last_ackhb.v > AGAIN / 2)
    ask_readers (own);
  while (fill.is >= fill.of && own->state == WRST_OPERATIONAL && wait_for_answer (own, end))
    fill = fill_of (own);
  return fill_of (own).is < fill.of;
}

int32_t rospin_dds_wait_for_room (int32_t writer, int64_t patience)
{
  struct dds_entity *entity;
  bool is_room = true;
  if (dds_entity_pin (writer, &entity) < 0)
    return is_room;
  if (dds_entity_kind (entity) == DDS_KIND_WRITER)
  {
    struct ddsi_writer *own = ((struct dds_writer *) entity)->m_wr;
    ddsi_thread_state_awake (ddsi_lookup_thread_state (), &entity->m_domain->gv);
    ddsrt_mutex_lock (&own->e.lock);
    if (own->heartbeat_xevent != NULL)
      is_room = wait_for_room (own, patience);
    ddsrt_mutex_unlock (&own->e.lock);
    ddsi_thread_state_asleep (ddsi_lookup_thread_state ());
  }
  dds_entity_unpin (entity);
  return is_room;
}
