/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-bench-source.h"

#include "gradus-philox.h"

#include <stdlib.h>
#include <string.h>

#define CLASSES 10

typedef struct
{
  GradusBatchSource source;
  GradusArraySpec   input;
  GradusArraySpec   target;
  guint             batch_size;
  gint64            n_batches;
  gint64            position;
  float            *samples;
  gint32           *labels;
  gint64           *indices;
  const void       *inputs[1];
  const void       *targets[1];
  GradusBatch       batch;
  GradusBenchFunc   func;
  gpointer          data;
} BenchSource;

#define BENCH(source) ((BenchSource *)(source))

static const GradusArraySpec *
bench_inputs (GradusBatchSource *source, guint *n)
{
  *n = 1;
  return &BENCH (source)->input;
}

static const GradusArraySpec *
bench_targets (GradusBatchSource *source, guint *n)
{
  *n = 1;
  return &BENCH (source)->target;
}

static gint64
bench_n_samples (GradusBatchSource *source)
{
  return BENCH (source)->n_batches * BENCH (source)->batch_size;
}

static gint64
bench_n_batches (GradusBatchSource *source)
{
  return BENCH (source)->n_batches;
}

static guint
bench_batch_size (GradusBatchSource *source)
{
  return BENCH (source)->batch_size;
}

/* The arrays were made for one size. */
static void
bench_set_batch_size (GradusBatchSource *source, guint batch_size)
{
}

static gboolean
bench_seek (GradusBatchSource *source, gint64 epoch, gint64 position, GError **error)
{
  BENCH (source)->position = position;
  return TRUE;
}

static const GradusBatch *
bench_next (GradusBatchSource *source, GError **error)
{
  BenchSource *self = BENCH (source);

  self->func (self->position, self->data);
  return self->position++ < self->n_batches ? &self->batch : NULL;
}

static void
bench_cancel (GradusBatchSource *source)
{
}

static void
bench_free (GradusBatchSource *source)
{
  BenchSource *self = BENCH (source);

  free (self->samples);
  free (self->labels);
  g_free (self->indices);
  g_free (self);
}

static const GradusBatchSourceFuncs funcs = {
  .inputs = bench_inputs,
  .targets = bench_targets,
  .n_samples = bench_n_samples,
  .n_batches = bench_n_batches,
  .batch_size = bench_batch_size,
  .set_batch_size = bench_set_batch_size,
  .seek = bench_seek,
  .next = bench_next,
  .cancel = bench_cancel,
  .free = bench_free,
};

static void *
aligned (gsize bytes)
{
  void *memory = aligned_alloc (64, (bytes + 63) / 64 * 64);

  if (memory == NULL)
    g_error ("no memory");
  return memory;
}

GradusBatchSource *
gradus_bench_source_new (guint           rank,
                         const gint64   *dims,
                         guint           batch_size,
                         gint64          n_batches,
                         GradusBenchFunc func,
                         gpointer        data)
{
  BenchSource *self = g_new0 (BenchSource, 1);
  GradusPhilox random = gradus_philox (1, gradus_philox_stream ("bench"), 0);
  gsize        n = batch_size;

  self->source.funcs = &funcs;
  self->input = (GradusArraySpec){ .name = "image", .dtype = GRADUS_DTYPE_FLOAT32, .rank = rank };
  memcpy (self->input.dims, dims, rank * sizeof *dims);
  self->target = (GradusArraySpec){ .name = "class", .dtype = GRADUS_DTYPE_INT32, .rank = 0 };
  self->batch_size = batch_size;
  self->n_batches = n_batches;
  self->func = func;
  self->data = data;
  for (guint i = 0; i < rank; i++)
    n *= dims[i];
  self->samples = aligned (n * sizeof (float));
  gradus_philox_fill_floats (&random, 0, n, self->samples);
  self->labels = aligned (batch_size * sizeof (gint32));
  self->indices = g_new0 (gint64, batch_size);
  for (guint i = 0; i < batch_size; i++)
    {
      self->labels[i] = i % CLASSES;
      self->indices[i] = i;
    }
  self->inputs[0] = self->samples;
  self->targets[0] = self->labels;
  self->batch = (GradusBatch){ batch_size, self->inputs, self->targets, self->indices };
  return &self->source;
}
