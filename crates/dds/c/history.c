/* A reader's history cache that keeps nothing: it hands every message to its receiver, whose queue counts what it
 * loses. The library's own cache counts no message that it has no room for. A receiver whose queue must lose nothing says
 * when it has no room, and gets the message later. */
#include <stdlib.h>
#include <string.h>

#include "dds/ddsi/ddsi_guid.h"
#include "dds/ddsi/ddsi_rhc.h"
#include "inside.h"

struct history {
  struct dds_rhc c;
  struct rospin_dds_receiver receiver;
};

/* Nanoseconds until the lifespan of a sample of that writer ends, which arrives now. */
static int64_t lifespan_of (const struct ddsi_writer_info *writer)
{
#ifdef DDS_HAS_LIFESPAN
  if (writer->lifespan_exp.v != DDS_NEVER)
    return writer->lifespan_exp.v - ddsrt_time_monotonic ().v;
#else
  (void) writer;
#endif
  return DDS_INFINITY;
}

static bool store (struct ddsi_rhc *rhc, const struct ddsi_writer_info *writer, struct ddsi_serdata *data, struct ddsi_tkmap_instance *instance)
{
  struct history *history = (struct history *) rhc;
  (void) instance;
  /* Other kinds say that an instance has ended. Only topics with keys have several instances. */
  if (data->kind == SDK_DATA)
  {
    const ddsi_guid_t guid = ddsi_hton_guid (writer->guid);
    uint8_t bytes[16];
    DDSRT_STATIC_ASSERT (sizeof (guid) == sizeof (bytes));
    memcpy (bytes, &guid, sizeof (bytes));
    history->receiver.arrived (history->receiver.target, (struct rospin_dds_sample *) ddsi_serdata_ref (data), writer->iid, bytes, lifespan_of (writer));
  }
  return true;
}

static bool has_room (struct ddsi_rhc *rhc, uint32_t count)
{
  struct history *history = (struct history *) rhc;
  return history->receiver.has_room == NULL || history->receiver.has_room (history->receiver.target, count);
}

static void unregister_writer (struct ddsi_rhc *rhc, const struct ddsi_writer_info *writer)
{
  (void) rhc; (void) writer;
}

static void relinquish_ownership (struct ddsi_rhc *rhc, const uint64_t writer)
{
  (void) rhc; (void) writer;
}

static void free_history (struct ddsi_rhc *rhc)
{
  struct history *history = (struct history *) rhc;
  history->receiver.forget (history->receiver.target);
  free (history);
}

static int32_t take_nothing (struct dds_rhc *rhc, int32_t max_samples, uint32_t mask, dds_instance_handle_t handle, struct dds_readcond *condition, dds_read_with_collector_fn_t collect, void *argument)
{
  (void) rhc; (void) max_samples; (void) mask; (void) handle; (void) condition; (void) collect; (void) argument;
  return 0;
}

static bool add_condition (struct dds_rhc *rhc, struct dds_readcond *condition)
{
  (void) rhc; (void) condition;
  return false;
}

static void remove_condition (struct dds_rhc *rhc, struct dds_readcond *condition)
{
  (void) rhc; (void) condition;
}

static dds_return_t associate (struct dds_rhc *rhc, struct dds_reader *reader)
{
  (void) rhc; (void) reader;
  return DDS_RETCODE_OK;
}

static const struct dds_rhc_ops history_ops = {
  .rhc_ops = {
    .store = store,
    .unregister_wr = unregister_writer,
    .relinquish_ownership = relinquish_ownership,
    .free = free_history,
    .has_room = has_room
  },
  .peek = take_nothing,
  .read = take_nothing,
  .take = take_nothing,
  .add_readcondition = add_condition,
  .remove_readcondition = remove_condition,
  .associate = associate
};

struct dds_rhc *rospin_dds_new_history (const struct rospin_dds_receiver *receiver)
{
  struct history *history = malloc (sizeof (*history));
  if (history == NULL)
    return NULL;
  history->c.common.ops = &history_ops;
  history->receiver = *receiver;
  return &history->c;
}

void rospin_dds_free_history (struct dds_rhc *history)
{
  dds_rhc_free (history);
}
