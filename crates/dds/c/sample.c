/* Messages in their encoding: Cyclone DDS neither encodes nor decodes them. There are no keys, as in ROS 2.
 *
 * A request or response can have an identity beside it, in the parameters that precede a message (its inline QoS): that is how
 * Fast DDS and RustDDS tell which response belongs to which request. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dds/ddsi/ddsi_keyhash.h"
#include "ddsi__protocol.h"
#include "ddsi__xmsg.h"
#include "dds/ddsi/ddsi_radmin.h"
#include "dds/ddsc/dds_loaned_sample.h"
#include "dds/ddsc/dds_psmx.h"
#include "inside.h"

struct rospin_dds_sample {
  struct ddsi_serdata c;
  /* Its number among those of its writer; zero if it has none, or did not come over the network. */
  uint64_t number;
  /* The identity that it has beside it, if any. */
  bool is_related;
  struct rospin_dds_identity related;
  size_t size;
  unsigned char *bytes;
  /* Frees bytes that are not behind this structure. */
  rospin_dds_free_fn free;
  size_t capacity;
  unsigned char room[];
};

static const struct ddsi_serdata_ops sample_ops;

/* With room for the size, rounded up to a multiple of four, as it may be sent. NULL if there is no memory. */
static struct rospin_dds_sample *new_sample (const struct ddsi_sertype *type, enum ddsi_serdata_kind kind, size_t size)
{
  const size_t padded = (size + 3) & ~(size_t) 3;
  struct rospin_dds_sample *sample = malloc (sizeof (*sample) + padded);
  if (sample == NULL)
    return NULL;
  ddsi_serdata_init (&sample->c, type, kind);
  sample->number = 0;
  sample->is_related = false;
  sample->size = size;
  sample->bytes = sample->room;
  sample->free = NULL;
  sample->capacity = 0;
  memset (sample->room + size, 0, padded - size);
  return sample;
}

static bool equal_keys (const struct ddsi_serdata *a, const struct ddsi_serdata *b)
{
  (void) a; (void) b;
  return true;
}

static uint32_t get_size (const struct ddsi_serdata *data)
{
  return (uint32_t) ((const struct rospin_dds_sample *) data)->size;
}

/* The parameters in which an identity is: the one of the standard, which is read from any sender by ROS 2 Jazzy and later, and
 * the older one of Fast DDS, the only one that Humble reads. */
#define PID_RELATED 0x0083
#define PID_RELATED_FAST_DDS 0x800f
#define PID_SENTINEL 1

/* An identity as it travels: an id, and a number as two halves, the higher one first. */
#define IDENTITY_SIZE 24

static uint16_t get_u16 (const unsigned char *bytes, bool is_little)
{
  return (uint16_t) (is_little ? bytes[0] | bytes[1] << 8 : bytes[0] << 8 | bytes[1]);
}

static uint32_t get_u32 (const unsigned char *bytes, bool is_little)
{
  const uint32_t first = get_u16 (bytes, is_little), second = get_u16 (bytes + 2, is_little);
  return is_little ? second << 16 | first : first << 16 | second;
}

bool rospin_dds_read_identity (const unsigned char *parameters, size_t size, bool is_little, struct rospin_dds_identity *identity)
{
  bool is_found = false;
  while (size >= 4)
  {
    const uint16_t name = get_u16 (parameters, is_little);
    const size_t length = get_u16 (parameters + 2, is_little);
    if (name == PID_SENTINEL || length > size - 4)
      break;
    const bool is_standard = name == PID_RELATED;
    if ((is_standard || name == PID_RELATED_FAST_DDS) && length >= IDENTITY_SIZE && (is_standard || !is_found))
    {
      const unsigned char *value = parameters + 4;
      memcpy (identity->guid, value, sizeof (identity->guid));
      identity->number = (int64_t) ((uint64_t) get_u32 (value + 16, is_little) << 32 | get_u32 (value + 20, is_little));
      is_found = true;
    }
    const size_t step = 4 + ((length + 3) & ~(size_t) 3);
    if (step > size)
      break;
    parameters += step;
    size -= step;
  }
  return is_found;
}

/* Reads the identity of a message from its first submessage: its parameters are between the submessage's header and the payload. */
static void read_related (struct rospin_dds_sample *sample, const struct ddsi_rdata *first)
{
  const unsigned char *submessage = DDSI_RMSG_PAYLOADOFF (first->rmsg, DDSI_RDATA_SUBMSG_OFF (first));
  const ddsi_rtps_data_datafrag_common_t *header = (const void *) submessage;
  if ((header->smhdr.flags & DDSI_DATA_FLAG_INLINE_QOS) == 0)
    return;
  /* Without a first fragment, the parameters' end is not known. */
  if (first->min != 0)
    return;
  const unsigned char *parameters = (const unsigned char *) &header->octetsToInlineQos + 2 + header->octetsToInlineQos;
  const unsigned char *payload = DDSI_RMSG_PAYLOADOFF (first->rmsg, DDSI_RDATA_PAYLOAD_OFF (first));
  if (parameters < submessage || parameters >= payload)
    return;
  const bool is_little = (header->smhdr.flags & DDSI_RTPS_SUBMESSAGE_FLAG_ENDIANNESS) != 0;
  sample->is_related = rospin_dds_read_identity (parameters, (size_t) (payload - parameters), is_little, &sample->related);
}

/* Writes the identity of a message, if it has one, into the parameters that precede it. The library calls it each time that it
 * sends the message. */
static void add_related (const struct ddsi_serdata *data, struct ddsi_xmsg *message)
{
  static const ddsi_parameterid_t names[] = { PID_RELATED, PID_RELATED_FAST_DDS };
  const struct rospin_dds_sample *sample = (const struct rospin_dds_sample *) data;
  if (!sample->is_related)
    return;
  const uint32_t halves[2] = { (uint32_t) ((uint64_t) sample->related.number >> 32), (uint32_t) sample->related.number };
  for (int i = 0; i < 2; i++)
  {
    unsigned char *value = ddsi_xmsg_addpar (message, names[i], IDENTITY_SIZE);
    memcpy (value, sample->related.guid, sizeof (sample->related.guid));
    memcpy (value + sizeof (sample->related.guid), halves, sizeof (halves));
  }
}

static struct ddsi_serdata *from_fragments (const struct ddsi_sertype *type, enum ddsi_serdata_kind kind, const struct ddsi_rdata *fragment, size_t size)
{
  struct rospin_dds_sample *sample = new_sample (type, kind, size);
  if (sample == NULL)
    return NULL;
  uint32_t offset = 0;
  /* The header of the message stands before its first fragment, in the byte order of this machine by now. */
  const ddsi_rtps_data_datafrag_common_t *header = (const void *) DDSI_RMSG_PAYLOADOFF (fragment->rmsg, DDSI_RDATA_SUBMSG_OFF (fragment));
  sample->number = (uint64_t) (uint32_t) header->writerSN.high << 32 | header->writerSN.low;
  read_related (sample, fragment);
  for (; fragment != NULL; fragment = fragment->nextfrag)
  {
    /* Fragments come in order, may overlap, and leave no gaps. */
    if (fragment->maxp1 <= offset)
      continue;
    if (fragment->min > offset || fragment->maxp1 > size)
      break;
    const unsigned char *payload = DDSI_RMSG_PAYLOADOFF (fragment->rmsg, DDSI_RDATA_PAYLOAD_OFF (fragment));
    memcpy (sample->bytes + offset, payload + (offset - fragment->min), fragment->maxp1 - offset);
    offset = fragment->maxp1;
  }
  if (offset != size)
  {
    free (sample);
    return NULL;
  }
  return &sample->c;
}

static struct ddsi_serdata *from_parts (const struct ddsi_sertype *type, enum ddsi_serdata_kind kind, ddsrt_msg_iovlen_t count, const ddsrt_iovec_t *parts, size_t size)
{
  struct rospin_dds_sample *sample = new_sample (type, kind, size);
  if (sample == NULL)
    return NULL;
  size_t offset = 0;
  for (ddsrt_msg_iovlen_t i = 0; i < count && offset < size; i++)
  {
    const size_t part = parts[i].iov_len < size - offset ? parts[i].iov_len : size - offset;
    memcpy (sample->bytes + offset, parts[i].iov_base, part);
    offset += part;
  }
  return &sample->c;
}

static struct ddsi_serdata *from_keyhash (const struct ddsi_sertype *type, const struct ddsi_keyhash *keyhash)
{
  (void) keyhash;
  struct rospin_dds_sample *sample = new_sample (type, SDK_KEY, 0);
  return sample == NULL ? NULL : &sample->c;
}

/* Nothing here has the library encode anything. */
static struct ddsi_serdata *from_sample (const struct ddsi_sertype *type, enum ddsi_serdata_kind kind, const void *sample)
{
  (void) type; (void) kind; (void) sample;
  return NULL;
}

static void to_bytes (const struct ddsi_serdata *data, size_t offset, size_t size, void *bytes)
{
  memcpy (bytes, ((const struct rospin_dds_sample *) data)->bytes + offset, size);
}

static struct ddsi_serdata *to_bytes_ref (const struct ddsi_serdata *data, size_t offset, size_t size, ddsrt_iovec_t *ref)
{
  ref->iov_base = ((const struct rospin_dds_sample *) data)->bytes + offset;
  ref->iov_len = (ddsrt_iov_len_t) size;
  return ddsi_serdata_ref (data);
}

static void to_bytes_unref (struct ddsi_serdata *data, const ddsrt_iovec_t *ref)
{
  (void) ref;
  ddsi_serdata_unref (data);
}

static bool to_sample (const struct ddsi_serdata *data, void *sample, void **begin, void *end)
{
  (void) data; (void) sample; (void) begin; (void) end;
  return false;
}

static struct ddsi_serdata *to_untyped (const struct ddsi_serdata *data)
{
  struct rospin_dds_sample *key = new_sample (data->type, SDK_KEY, 0);
  if (key == NULL)
    abort ();
  key->c.type = NULL;
  return &key->c;
}

static bool untyped_to_sample (const struct ddsi_sertype *type, const struct ddsi_serdata *data, void *sample, void **begin, void *end)
{
  (void) type; (void) data; (void) sample; (void) begin; (void) end;
  return true;
}

static void free_sample (struct ddsi_serdata *data)
{
  struct rospin_dds_sample *sample = (struct rospin_dds_sample *) data;
  if (sample->free != NULL)
    sample->free (sample->bytes, sample->capacity);
  free (sample);
}

static size_t print (const struct ddsi_sertype *type, const struct ddsi_serdata *data, char *text, size_t size)
{
  (void) type;
  return (size_t) snprintf (text, size, "%zu bytes", ((const struct rospin_dds_sample *) data)->size);
}

static void get_keyhash (const struct ddsi_serdata *data, struct ddsi_keyhash *keyhash, bool force_md5)
{
  (void) data; (void) force_md5;
  memset (keyhash, 0, sizeof (*keyhash));
}

static struct ddsi_serdata *from_loan (const struct ddsi_sertype *type, enum ddsi_serdata_kind kind, const char *sample, struct dds_loaned_sample *loan, bool will_require_cdr)
{
  (void) type; (void) kind; (void) sample; (void) loan; (void) will_require_cdr;
  return NULL;
}

/* A message that came through shared memory, where the configuration has some, without its encapsulation header. */
static struct ddsi_serdata *from_shared_memory (const struct ddsi_sertype *type, struct dds_loaned_sample *loan)
{
  const struct dds_psmx_metadata *about = loan->metadata;
  struct rospin_dds_sample *sample = new_sample (type, SDK_DATA, 4 + (size_t) about->sample_size);
  if (sample == NULL)
    return NULL;
  memcpy (sample->bytes, &about->cdr_identifier, 2);
  memcpy (sample->bytes + 2, &about->cdr_options, 2);
  memcpy (sample->bytes + 4, loan->sample_ptr, about->sample_size);
  sample->c.statusinfo = about->statusinfo;
  sample->c.timestamp.v = about->timestamp;
  return &sample->c;
}

static const struct ddsi_serdata_ops sample_ops = {
  .eqkey = equal_keys,
  .get_size = get_size,
  .from_ser = from_fragments,
  .from_ser_iov = from_parts,
  .from_keyhash = from_keyhash,
  .from_sample = from_sample,
  .to_ser = to_bytes,
  .to_ser_ref = to_bytes_ref,
  .to_ser_unref = to_bytes_unref,
  .to_sample = to_sample,
  .to_untyped = to_untyped,
  .untyped_to_sample = untyped_to_sample,
  .free = free_sample,
  .print = print,
  .get_keyhash = get_keyhash,
  .from_loaned_sample = from_loan,
  .from_psmx = from_shared_memory,
  .add_inline_qos = add_related
};

static void free_type (struct ddsi_sertype *type)
{
  ddsi_sertype_fini (type);
  free (type);
}

static void zero_samples (const struct ddsi_sertype *type, void *samples, size_t count)
{
  (void) type; (void) samples; (void) count;
}

static void realloc_samples (void **samples, const struct ddsi_sertype *type, void *old, size_t old_count, size_t count)
{
  (void) type; (void) old; (void) old_count;
  memset (samples, 0, count * sizeof (*samples));
}

static void free_samples (const struct ddsi_sertype *type, void **samples, size_t count, dds_free_op_t what)
{
  (void) type; (void) samples; (void) count; (void) what;
}

/* Types with the same name and the same operations. */
static bool equal_types (const struct ddsi_sertype *a, const struct ddsi_sertype *b)
{
  (void) a; (void) b;
  return true;
}

static uint32_t hash_type (const struct ddsi_sertype *type)
{
  (void) type;
  return 0;
}

static const struct ddsi_sertype_ops type_ops = {
  .version = ddsi_sertype_v0,
  .free = free_type,
  .zero_samples = zero_samples,
  .realloc_samples = realloc_samples,
  .free_samples = free_samples,
  .equal = equal_types,
  .hash = hash_type
};

struct ddsi_sertype *rospin_dds_new_type (const char *name)
{
  struct ddsi_sertype *type = calloc (1, sizeof (*type));
  if (type == NULL)
    return NULL;
  ddsi_sertype_init_flags (type, name, &type_ops, &sample_ops, DDSI_SERTYPE_FLAG_TOPICKIND_NO_KEY);
  type->allowed_data_representation = DDS_DATA_REPRESENTATION_FLAG_XCDR1;
  return type;
}

const uint8_t *rospin_dds_sample_bytes (const struct rospin_dds_sample *sample, size_t *size)
{
  *size = sample->size;
  return sample->bytes;
}

uint64_t rospin_dds_sample_number (const struct rospin_dds_sample *sample)
{
  return sample->number;
}

int64_t rospin_dds_sample_time (const struct rospin_dds_sample *sample)
{
  return sample->c.timestamp.v;
}

const struct rospin_dds_identity *rospin_dds_sample_related (const struct rospin_dds_sample *sample)
{
  return sample->is_related ? &sample->related : NULL;
}

void rospin_dds_sample_drop (struct rospin_dds_sample *sample)
{
  ddsi_serdata_unref (&sample->c);
}

static void set_related (struct rospin_dds_sample *sample, const struct rospin_dds_identity *related)
{
  if (related == NULL)
    return;
  sample->is_related = true;
  sample->related = *related;
}

int32_t rospin_dds_write_copy (int32_t writer, const struct ddsi_sertype *type, const void *bytes, size_t size, const struct rospin_dds_identity *related)
{
  struct rospin_dds_sample *sample = new_sample (type, SDK_DATA, size);
  if (sample == NULL)
    return DDS_RETCODE_OUT_OF_RESOURCES;
  set_related (sample, related);
  memcpy (sample->bytes, bytes, size);
  return dds_writecdr (writer, &sample->c);
}

int32_t rospin_dds_write_adopt (int32_t writer, const struct ddsi_sertype *type, void *bytes, size_t size, size_t capacity, rospin_dds_free_fn free, const struct rospin_dds_identity *related)
{
  struct rospin_dds_sample *sample = new_sample (type, SDK_DATA, 0);
  if (sample == NULL)
  {
    free (bytes, capacity);
    return DDS_RETCODE_OUT_OF_RESOURCES;
  }
  sample->size = size;
  sample->bytes = bytes;
  sample->free = free;
  sample->capacity = capacity;
  set_related (sample, related);
  return dds_writecdr (writer, &sample->c);
}
