/* SPDX-License-Identifier: Apache-2.0 */

/* Every kernel of a device against the reference, on the cases of the op table and odd batch sizes;
 * in place where the row allows it; and the same bits for every number of workers. */

#include <math.h>
#include <string.h>

#include "device/cpu/gradus-cpu.h"
#include "device/ref/gradus-ref.h"
#include "gradus-test-ops.h"

#define SEED 11
#define STEP 4

/* One node with bound shapes and its numbers on the host, in their own types. */
typedef struct
{
  const GradusOp     *op;
  const GradusOpCase *c;
  gint64              batch;
  GradusProgram      *program;
  const GradusNode   *node;
  GradusValueType    *in, *out;
  void              **inputs;
  guint               n_results; /* outputs, then updated variables */
  GradusValueType     result_types[16];
  int                 updated[16]; /* the input a result is, or -1 */
  double             *wanted[16];
} Fixture;

static gsize
bytes_of (const GradusValueType *type)
{
  return (gsize) gradus_shape_count (&type->shape) * gradus_dtype_size (type->dtype);
}

static void
add_result (Fixture *self, const GradusValueType *type, int updated, const double *wanted)
{
  gint64 n = gradus_shape_count (&type->shape);

  g_assert_cmpuint (self->n_results, <, G_N_ELEMENTS (self->wanted));
  self->result_types[self->n_results] = *type;
  self->updated[self->n_results] = updated;
  self->wanted[self->n_results] = g_new (double, n + 1);
  memcpy (self->wanted[self->n_results++], wanted, n * sizeof *wanted);
}

static void
fixture_init (Fixture *self, const GradusOp *op, const GradusOpCase *c, gint64 batch)
{
  g_autoptr (GArray) inputs = gradus_test_parse_case (c, batch);
  GradusValueId      ids[16];
  double           **values;

  memset (self, 0, sizeof *self);
  self->op = op;
  self->c = c;
  self->batch = batch;
  self->program = gradus_test_program (op, c, inputs, ids);
  self->node = gradus_program_node (self->program, 0);
  self->in = gradus_test_types (self->program, self->node->inputs, self->node->n_inputs, batch);
  self->out = gradus_test_types (self->program, self->node->outputs, self->node->n_outputs, batch);
  self->inputs = g_new0 (void *, inputs->len + 1);
  values = g_new0 (double *, gradus_program_n_values (self->program));
  for (guint i = 0; i < inputs->len; i++)
    {
      const GradusTestInput *input = &g_array_index (inputs, GradusTestInput, i);
      gint64                 n = gradus_shape_count (&input->type.shape);

      if (input->missing)
        continue;
      values[ids[i]] = gradus_test_fill (input, i);
      self->inputs[i] = g_malloc (bytes_of (&input->type) + 1);
      gradus_ref_round (input->type.dtype, values[ids[i]], n, self->inputs[i]);
      gradus_ref_widen (input->type.dtype, self->inputs[i], n, values[ids[i]]);
    }
  gradus_test_evaluate (self->program, values, batch, SEED, STEP);
  for (guint i = 0; i < self->node->n_outputs; i++)
    add_result (self, &self->out[i], -1, values[self->node->outputs[i]]);
  for (guint i = 0; i < MIN (self->node->n_inputs, 32); i++)
    if ((op->updates & (1u << i)) != 0 && self->inputs[i] != NULL)
      add_result (self, &self->in[i], i, values[self->node->inputs[i]]);
  gradus_test_free_values (values, gradus_program_n_values (self->program));
}

static void
fixture_clear (Fixture *self)
{
  for (guint i = 0; i < self->node->n_inputs; i++)
    g_free (self->inputs[i]);
  for (guint i = 0; i < self->n_results; i++)
    g_free (self->wanted[i]);
  g_free (self->inputs);
  g_free (self->in);
  g_free (self->out);
  gradus_program_unref (self->program);
}

static void *
device_memory (GradusDevice *device, GradusStream *stream, gsize bytes, const void *content)
{
  g_autoptr (GError) error = NULL;
  void              *memory = device->funcs->allocate (device, bytes + 64, &error);
  g_autofree void   *poison = g_malloc (bytes + 64);

  g_assert_no_error (error);
  /* What a kernel does not write, or reads before it writes, is not a number. */
  memset (poison, 0xff, bytes + 64);
  if (content != NULL)
    memcpy (poison, content, bytes);
  device->funcs->upload (device, stream, memory, poison, bytes + 64, &error);
  g_assert_no_error (error);
  return memory;
}

static void *
read_back (GradusDevice *device, GradusStream *stream, const void *memory, gsize bytes)
{
  g_autoptr (GError) error = NULL;
  guint8            *host = g_malloc (bytes + 64);

  device->funcs->download (device, stream, host, memory, bytes + 64, &error);
  g_assert_no_error (error);
  device->funcs->synchronise (device, stream, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < 64; i++)
    g_assert_cmphex (host[bytes + i], ==, 0xff);
  return host;
}

static gboolean
is_shape_only (const Fixture *self, guint i)
{
  return i < 32 && (self->op->shape_only & (1u << i)) != 0;
}

/* Runs the node; @results: (out): n_results arrays. @inplace: output 0 lies over its input. */
static void
run (Fixture *self, GradusDevice *device, gboolean inplace, void **results)
{
  const GradusDeviceFuncs  *f = device->funcs;
  const GradusKernelRequest request = { self->node, self->in, self->out };
  g_autoptr (GError)        error = NULL;
  GradusStream             *stream = f->stream_new (device, &error);
  GradusKernel             *kernel = NULL;
  gsize                     scratch = 0;
  void                     *in[16] = { NULL }, *out[16] = { NULL };
  GradusKernelArgs          args = { in, out, NULL, SEED, STEP };

  if (!f->prepare (device, &request, &kernel, &scratch, &error))
    g_error ("%s %s: %s", self->op->name, self->c->inputs, error->message);
  for (guint i = 0; i < self->node->n_inputs; i++)
    if (self->inputs[i] != NULL)
      in[i] = device_memory (device, stream, bytes_of (&self->in[i]),
                             is_shape_only (self, i) ? NULL : self->inputs[i]);
  for (guint i = 0; i < self->node->n_outputs; i++)
    out[i] = inplace && i == 0 ? in[self->op->inplace]
                               : device_memory (device, stream, bytes_of (&self->out[i]), NULL);
  args.scratch = scratch > 0 ? device_memory (device, stream, scratch, NULL) : NULL;
  f->run (device, stream, kernel, &args, &error);
  g_assert_no_error (error);
  for (guint i = 0; i < self->n_results; i++)
    results[i] = read_back (device, stream, self->updated[i] >= 0 ? in[self->updated[i]] : out[i],
                            bytes_of (&self->result_types[i]));
  if (scratch > 0)
    {
      g_free (read_back (device, stream, args.scratch, scratch));
      f->deallocate (device, args.scratch, scratch + 64);
    }
  for (guint i = inplace ? 1 : 0; i < self->node->n_outputs; i++)
    f->deallocate (device, out[i], bytes_of (&self->out[i]) + 64);
  for (guint i = 0; i < self->node->n_inputs; i++)
    if (in[i] != NULL)
      f->deallocate (device, in[i], bytes_of (&self->in[i]) + 64);
  f->kernel_free (device, kernel);
  f->stream_free (device, stream);
}

static void
free_results (Fixture *self, void **results)
{
  for (guint i = 0; i < self->n_results; i++)
    g_clear_pointer (&results[i], g_free);
}

static void
compare_result (Fixture *self, guint result, const void *met)
{
  const GradusValueType *type = &self->result_types[result];
  gint64                 n = gradus_shape_count (&type->shape);
  g_autofree double     *wide = g_new (double, n + 1);
  const double          *wanted = self->wanted[result];
  double                 tolerance = self->c->tolerance > 0 ? self->c->tolerance : 1e-5;
  double                 scale = 0;

  gradus_ref_widen (type->dtype, met, n, wide);
  for (gint64 i = 0; i < n; i++)
    scale = MAX (scale, fabs (wanted[i]));
  if (type->dtype != GRADUS_DTYPE_FLOAT32)
    tolerance = type->dtype == GRADUS_DTYPE_FLOAT64 ? 1e-12 : 0;
  for (gint64 i = 0; i < n; i++)
    if (!(fabs (wide[i] - wanted[i]) <= tolerance * MAX (scale, 1e-6))
        && !(isnan (wide[i]) && isnan (wanted[i])))
      g_error ("%s %s (%s), batch %d: element %d of %d of result %u is %.9g and should be %.9g",
               self->op->name, self->c->inputs, self->c->attrs != NULL ? self->c->attrs : "",
               (int) self->batch, (int) i, (int) n, result, wide[i], wanted[i]);
}

static void
check_values (Fixture *self, GradusDevice *device)
{
  void *results[16] = { NULL };

  run (self, device, FALSE, results);
  for (guint i = 0; i < self->n_results; i++)
    compare_result (self, i, results[i]);
  free_results (self, results);
}

static void
compare_bits (Fixture *self, void **a, void **b, const char *what)
{
  for (guint i = 0; i < self->n_results; i++)
    if (memcmp (a[i], b[i], bytes_of (&self->result_types[i])) != 0)
      g_error ("%s %s (%s), batch %d: result %u has other bits %s", self->op->name, self->c->inputs,
               self->c->attrs != NULL ? self->c->attrs : "", (int) self->batch, i, what);
}

static gboolean
can_run_in_place (Fixture *self)
{
  return self->op->inplace >= 0 && self->in[self->op->inplace].dtype == self->out[0].dtype
         && bytes_of (&self->in[self->op->inplace]) == bytes_of (&self->out[0]);
}

static void
check_in_place (Fixture *self, GradusDevice *device)
{
  void *apart[16] = { NULL }, *over[16] = { NULL };

  if (!can_run_in_place (self))
    return;
  run (self, device, FALSE, apart);
  run (self, device, TRUE, over);
  compare_bits (self, apart, over, "in place");
  free_results (self, apart);
  free_results (self, over);
}

/* The grain rule would keep small work on one thread; without it the tiles spread. */
static void
check_threads (Fixture *self, GradusDevice *device)
{
  static const guint threads[] = { 2, 3, 8 };
  void              *one[16] = { NULL }, *many[16] = { NULL };

  device->funcs->set_threads (device, 1);
  run (self, device, FALSE, one);
  for (guint i = 0; i < G_N_ELEMENTS (threads); i++)
    {
      device->funcs->set_threads (device, threads[i]);
      run (self, device, FALSE, many);
      compare_bits (self, one, many, "with more threads");
      free_results (self, many);
    }
  free_results (self, one);
}

static GradusDevice *
open_cpu (void)
{
  g_autoptr (GError) error = NULL;
  GradusDevice      *device = gradus_device_open ("cpu", 1, &error);

  g_assert_no_error (error);
  gradus_cpu_device_set_grain (device, 0);
  return device;
}

static void
test_cpu (gconstpointer data)
{
  static const gint64      batches[] = { 1, 2, 3, 17, 64 };
  const GradusOp          *op = data;
  g_autoptr (GradusDevice) device = open_cpu ();

  for (const GradusOpCase *c = op->cases; c->inputs != NULL; c++)
    for (guint i = 0; i < G_N_ELEMENTS (batches); i++)
      {
        Fixture fixture;

        fixture_init (&fixture, op, c, batches[i]);
        check_values (&fixture, device);
        check_in_place (&fixture, device);
        check_threads (&fixture, device);
        fixture_clear (&fixture);
        if (strchr (c->inputs, 'B') == NULL)
          break;
      }
  g_assert_cmpint (device->funcs->memory (device).current, ==, 0);
}

static void
test_ref (gconstpointer data)
{
  const GradusOp          *op = data;
  g_autoptr (GError)       error = NULL;
  g_autoptr (GradusDevice) device = gradus_device_open ("ref", 1, &error);

  g_assert_no_error (error);
  for (const GradusOpCase *c = op->cases; c->inputs != NULL; c++)
    {
      Fixture fixture;

      fixture_init (&fixture, op, c, 2);
      check_values (&fixture, device);
      check_in_place (&fixture, device);
      fixture_clear (&fixture);
    }
  g_assert_cmpint (device->funcs->memory (device).current, ==, 0);
  g_assert_cmpint (device->funcs->memory (device).peak, >, 0);
}

static void
test_unknown (void)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (gradus_device_open ("abacus", 1, &error));
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_UNSUPPORTED);
  g_assert_nonnull (strstr (error->message, "abacus"));
  g_assert_nonnull (strstr (error->message, "ref"));
}

int
main (int argc, char **argv)
{
  guint                  n;
  const GradusOp *const *table = gradus_op_table (&n);

  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/device/unknown", test_unknown);
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *ref = g_strconcat ("/ops-kernel/ref/", table[i]->name, NULL);
      g_autofree char *cpu = g_strconcat ("/ops-kernel/cpu/", table[i]->name, NULL);

      g_test_add_data_func (ref, table[i], test_ref);
      g_test_add_data_func (cpu, table[i], test_cpu);
    }
  return g_test_run ();
}
