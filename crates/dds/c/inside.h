/* Declarations that the files in this folder share. */
#ifndef ROSPIN_DDS_INSIDE_H
#define ROSPIN_DDS_INSIDE_H

#include "dds/dds.h"
#include "dds/ddsc/dds_rhc.h"
#include "dds/ddsi/ddsi_serdata.h"
#include "dds/ddsi/ddsi_sertype.h"
#include "rospin_dds.h"

/* A type of which nothing is known but its name. */
struct ddsi_sertype *rospin_dds_new_type (const char *name);

/* A history cache that hands everything to its receiver and keeps nothing. */
struct dds_rhc *rospin_dds_new_history (const struct rospin_dds_receiver *receiver);
/* Of a reader that could not be created. */
void rospin_dds_free_history (struct dds_rhc *history);

#endif
