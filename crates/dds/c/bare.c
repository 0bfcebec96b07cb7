/* The library as it is, without anything of ours between it and whoever listens: its own history cache, a listener and a
 * thread. To measure by. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"

/* The most samples that are taken at a time. */
#define A_TAKE 100

struct rospin_dds_bare {
  dds_entity_t reader;
  void *target;
  void (*heard) (void *target, const uint8_t *bytes, size_t size);
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int has_news;
  int is_over;
};

static void on_data (dds_entity_t reader, void *argument)
{
  struct rospin_dds_bare *bare = argument;
  (void) reader;
  pthread_mutex_lock (&bare->lock);
  if (!bare->has_news)
  {
    bare->has_news = 1;
    pthread_cond_signal (&bare->changed);
  }
  pthread_mutex_unlock (&bare->lock);
}

static void *take (void *argument)
{
  struct rospin_dds_bare *bare = argument;
  struct ddsi_serdata *samples[A_TAKE];
  dds_sample_info_t infos[A_TAKE];
  for (;;)
  {
    pthread_mutex_lock (&bare->lock);
    while (!bare->has_news && !bare->is_over)
      pthread_cond_wait (&bare->changed, &bare->lock);
    bare->has_news = 0;
    const int is_over = bare->is_over;
    pthread_mutex_unlock (&bare->lock);
    if (is_over)
      return NULL;
    int32_t count;
    while ((count = dds_takecdr (bare->reader, samples, A_TAKE, infos, DDS_ANY_STATE)) > 0)
      for (int32_t i = 0; i < count; i++)
      {
        size_t size;
        const uint8_t *bytes = rospin_dds_sample_bytes ((struct rospin_dds_sample *) samples[i], &size);
        if (infos[i].valid_data)
          bare->heard (bare->target, bytes, size);
        ddsi_serdata_unref (samples[i]);
      }
  }
}

struct rospin_dds_bare *rospin_dds_bare_start (int32_t participant, int32_t topic, int32_t depth, void *target, void (*heard) (void *, const uint8_t *, size_t))
{
  struct rospin_dds_bare *bare = calloc (1, sizeof (*bare));
  if (bare == NULL)
    return NULL;
  bare->target = target;
  bare->heard = heard;
  pthread_mutex_init (&bare->lock, NULL);
  pthread_cond_init (&bare->changed, NULL);
  dds_qos_t *qos = dds_create_qos ();
  dds_qset_history (qos, depth > 0 ? DDS_HISTORY_KEEP_LAST : DDS_HISTORY_KEEP_ALL, depth);
  dds_qset_reliability (qos, DDS_RELIABILITY_RELIABLE, DDS_INFINITY);
  dds_listener_t *listener = dds_create_listener (bare);
  dds_lset_data_available (listener, on_data);
  bare->reader = dds_create_reader (participant, topic, qos, listener);
  dds_delete_listener (listener);
  dds_delete_qos (qos);
  if (bare->reader < 0 || pthread_create (&bare->thread, NULL, take, bare) != 0)
  {
    free (bare);
    return NULL;
  }
  return bare;
}

void rospin_dds_bare_stop (struct rospin_dds_bare *bare)
{
  pthread_mutex_lock (&bare->lock);
  bare->is_over = 1;
  pthread_cond_signal (&bare->changed);
  pthread_mutex_unlock (&bare->lock);
  pthread_join (bare->thread, NULL);
  (void) dds_delete (bare->reader);
  free (bare);
}
