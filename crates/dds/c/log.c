/* What the library says goes to the program's log instead of standard error. */
#include "dds/ddsrt/log.h"
#include "rospin_dds.h"

static void pass_on (void *argument, const dds_log_data_t *data)
{
  const rospin_dds_log_fn log = (rospin_dds_log_fn) argument;
  const int32_t is_warning = (data->priority & (DDS_LC_FATAL | DDS_LC_ERROR | DDS_LC_WARNING)) != 0;
  log (is_warning, data->message, data->size);
}

void rospin_dds_log_to (rospin_dds_log_fn log)
{
  dds_set_log_sink (pass_on, (void *) log);
}
