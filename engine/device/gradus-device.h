/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/gradus-plan.h"

G_BEGIN_DECLS

typedef struct _GradusDevice GradusDevice;
typedef struct _GradusKernel GradusKernel; /* the device's own */
typedef struct _GradusStream GradusStream;
typedef struct _GradusEvent  GradusEvent;

/* An op with bound types, asked of a device. */
typedef struct
{
  const GradusNode      *node;
  const GradusValueType *inputs; /* rank 0 float32 where an optional input is missing */
  const GradusValueType *outputs;
} GradusKernelRequest;

typedef struct
{
  void *const *inputs; /* device addresses; NULL where an optional input is missing */
  void *const *outputs;
  void        *scratch;
  guint64      seed;
  guint64      step;
} GradusKernelArgs;

typedef struct
{
  gint64 current, peak, limit; /* bytes allocated from this device by us; limit 0: unknown */
} GradusDeviceMemory;

/**
 * GradusDeviceFuncs:
 *
 * Asynchronous by nature: run and copy put work on a stream and return; only synchronise waits. On
 * cpu everything happens to be done at return. run() neither allocates nor synchronises.
 */
typedef struct
{
  const char *name; /* "cpu", "ref", "cuda:0" */
  void *(*allocate) (GradusDevice *self, gsize bytes, GError **error); /* zeroed, 64-byte aligned */
  void (*deallocate) (GradusDevice *self, void *memory, gsize bytes);
  gboolean (*upload) (GradusDevice *self, GradusStream *stream, void *to, const void *from_host, gsize bytes, GError **error);
  gboolean (*download) (GradusDevice *self, GradusStream *stream, void *to_host, const void *from, gsize bytes, GError **error);
  gboolean (*prepare) (GradusDevice *self, const GradusKernelRequest *request, GradusKernel **kernel, gsize *scratch, GError **error);
  gboolean (*run) (GradusDevice *self, GradusStream *stream, GradusKernel *kernel, const GradusKernelArgs *args, GError **error);
  /* "onednn", "openblas", "c": which provider the table chose. */
  const char *(*kernel_provider) (GradusKernel *kernel);
  void (*kernel_free) (GradusDevice *self, GradusKernel *kernel);
  GradusStream *(*stream_new) (GradusDevice *self, GError **error);
  void (*stream_free) (GradusDevice *self, GradusStream *stream);
  GradusEvent *(*event_new) (GradusDevice *self, GError **error);
  void (*event_free) (GradusDevice *self, GradusEvent *event);
  gboolean (*event_record) (GradusDevice *self, GradusEvent *event, GradusStream *stream, GError **error);
  gboolean (*event_wait) (GradusDevice *self, GradusEvent *event, GradusStream *stream, GError **error);
  gboolean (*synchronise) (GradusDevice *self, GradusStream *stream, GError **error);
  GradusDeviceMemory (*memory) (GradusDevice *self);
  void (*reset_peak) (GradusDevice *self);
  /* Worker threads; results do not depend on it. A device that has none ignores it. */
  void (*set_threads) (GradusDevice *self, guint threads);
  char *(*describe) (GradusDevice *self); /* JSON: model, instruction set, libraries, threads */
  void (*free) (GradusDevice *self);
} GradusDeviceFuncs;

struct _GradusDevice
{
  const GradusDeviceFuncs *funcs;
  gatomicrefcount          refs;
};

/* @name: "cpu", "ref" or NULL for the best there is. @threads: 0 for the default (see
 * gradus-pool.h). Fails with GRADUS_ERROR_UNSUPPORTED, saying why. */
GradusDevice *gradus_device_open  (const char *name, guint threads, GError **error);
GradusDevice *gradus_device_ref   (GradusDevice *device);
void          gradus_device_unref (GradusDevice *device);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GradusDevice, gradus_device_unref)

G_END_DECLS
