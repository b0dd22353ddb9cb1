/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cpu/gradus-cpu.h"
#include "device/ref/gradus-ref.h"
#include "gradus-test-ops.h"

#include <math.h>
#include <string.h>

/* Every kernel of the cpu device against the reference, and its bits for other numbers of threads on
 * shapes large enough to be cut into several tiles. */

#define SEED 3
#define STEP 5

/* One node with its numbers: float64 for the reference, the value's type for the device. */
typedef struct
{
  GradusProgram    *program;
  const GradusNode *node;
  GArray           *inputs;
  GradusValueType  *input_types, *output_types;
  double          **values; /* by value id */
} Fixture;

static void
fixture_init (Fixture *f, const GradusOp *op, const GradusOpCase *c, gint64 batch)
{
  g_autofree GradusValueId *ids = NULL;

  f->inputs = gradus_test_parse_case (c, batch);
  ids = g_new (GradusValueId, f->inputs->len + 1);
  f->program = gradus_test_program (op, c, f->inputs, ids);
  f->node = gradus_program_node (f->program, 0);
  f->input_types = gradus_test_types (f->program, f->node->inputs, f->node->n_inputs, batch);
  f->output_types = gradus_test_types (f->program, f->node->outputs, f->node->n_outputs, batch);
  f->values = g_new0 (double *, gradus_program_n_values (f->program) + 1);
  for (guint i = 0; i < f->inputs->len; i++)
    if (f->node->inputs[i] != GRADUS_NO_VALUE)
      f->values[f->node->inputs[i]] = gradus_test_fill (&g_array_index (f->inputs, GradusTestInput, i), i);
}

static void
fixture_clear (Fixture *f)
{
  gradus_test_free_values (f->values, gradus_program_n_values (f->program));
  g_array_unref (f->inputs);
  g_free (f->input_types);
  g_free (f->output_types);
  gradus_program_unref (f->program);
}

static gsize
type_bytes (const GradusValueType *type)
{
  return (gsize) gradus_shape_count (&type->shape) * gradus_dtype_size (type->dtype);
}

/* What the device makes of it: inputs (some are updated), then outputs; freed with the array. */
static GPtrArray *
run_on_device (Fixture *f, GradusDevice *device)
{
  GPtrArray *buffers = g_ptr_array_new_with_free_func ((GDestroyNotify) g_bytes_unref);
  GPtrArray *memory = g_ptr_array_new_with_free_func (g_free);
  GradusKernelRequest request = { f->node, f->input_types, f->output_types };
  GradusKernelArgs args = { .seed = SEED, .step = STEP };
  g_autoptr (GError) error = NULL;
  GradusKernel *kernel = NULL;
  gsize scratch = 0;
  void *scratch_memory;
  guint n = f->node->n_inputs;

  for (guint i = 0; i < n + f->node->n_outputs; i++)
    {
      const GradusValueType *type = i < n ? &f->input_types[i] : &f->output_types[i - n];
      void *block = NULL;
      if (i >= n || f->node->inputs[i] != GRADUS_NO_VALUE)
        {
          block = g_malloc (type_bytes (type) + 64);
          memset (block, 0xff, type_bytes (type) + 64);
        }
      if (i < n && block != NULL)
        gradus_ref_round (type->dtype, f->values[f->node->inputs[i]], gradus_shape_count (&type->shape), block);
      g_ptr_array_add (memory, block);
    }
  g_assert_true (device->funcs->prepare (device, &request, &kernel, &scratch, &error));
  g_assert_no_error (error);
  scratch_memory = device->funcs->allocate (device, scratch, &error);
  g_assert_no_error (error);
  memset (scratch_memory, 0xff, scratch);
  args.inputs = memory->pdata;
  args.outputs = memory->pdata + n;
  args.scratch = scratch_memory;
  g_assert_true (device->funcs->run (device, NULL, kernel, &args, &error));
  for (guint i = 0; i < memory->len; i++)
    {
      const GradusValueType *type = i < n ? &f->input_types[i] : &f->output_types[i - n];
      const guint8 *bytes = memory->pdata[i];
      g_ptr_array_add (buffers, g_bytes_new (bytes, bytes != NULL ? type_bytes (type) : 0));
      /* Nothing is written behind the end. */
      for (guint k = 0; bytes != NULL && k < 64; k++)
        g_assert_cmpuint (bytes[type_bytes (type) + k], ==, 0xff);
    }
  device->funcs->deallocate (device, scratch_memory, scratch);
  device->funcs->kernel_free (device, kernel);
  g_ptr_array_unref (memory);
  return buffers;
}

static void
compare (const char *what, const GradusValueType *type, GBytes *got, const double *wanted, double tolerance)
{
  gint64 n = gradus_shape_count (&type->shape);
  g_autofree double *values = g_new (double, n + 1);
  double scale = 1e-3;

  gradus_ref_widen (type->dtype, g_bytes_get_data (got, NULL), n, values);
  for (gint64 i = 0; i < n; i++)
    scale = MAX (scale, fabs (wanted[i]));
  for (gint64 i = 0; i < n; i++)
    if (!(fabs (values[i] - wanted[i]) <= tolerance * scale) && !(isnan (values[i]) && isnan (wanted[i])))
      g_error ("%s: element %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " is %.9g, not %.9g (scale %g)", what, i, n,
               values[i], wanted[i], scale);
}

static void
check_case (GradusDevice *device, const GradusOp *op, const GradusOpCase *c, gint64 batch)
{
  g_autofree char *what = g_strdup_printf ("%s %s %s batch %d", op->name, c->inputs, c->attrs != NULL ? c->attrs : "", (int) batch);
  double tolerance = c->tolerance > 0 ? c->tolerance : 1e-5;
  g_autoptr (GPtrArray) got = NULL;
  Fixture f;

  g_test_message ("%s", what);
  fixture_init (&f, op, c, batch);
  got = run_on_device (&f, device);
  gradus_test_evaluate (f.program, f.values, batch, SEED, STEP);
  for (guint i = 0; i < f.node->n_inputs; i++)
    if (i < 32 && (op->updates & (1u << i)) != 0 && f.node->inputs[i] != GRADUS_NO_VALUE)
      compare (what, &f.input_types[i], got->pdata[i], f.values[f.node->inputs[i]], tolerance);
  for (guint i = 0; i < f.node->n_outputs; i++)
    compare (what, &f.output_types[i], got->pdata[f.node->n_inputs + i], f.values[f.node->outputs[i]], tolerance);
  fixture_clear (&f);
}

static void
test_cases (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusDevice) device = gradus_cpu_device_new (2, &error);
  guint n;
  const GradusOp *const *table = gradus_op_table (&n);

  g_assert_no_error (error);
  gradus_cpu_device_set_grain (device, 0);
  for (guint i = 0; i < n; i++)
    for (const GradusOpCase *c = table[i]->cases; c != NULL && c->inputs != NULL; c++)
      for (gint64 batch = 1; batch <= 11; batch += 5)
        check_case (device, table[i], c, batch);
}

/* Large enough to be cut. */
static const struct
{
  const char  *op;
  GradusOpCase c;
} large[] = {
  { "matmul", { "f32[B,784] f32[784,300] f32[300]", "activation=relu", 1e-5 } },
  { "matmul", { "f32[B,700] f32[B,260]", "transpose_a=1", 1e-5 } },
  { "matmul", { "f32[B,300] f32[700,300]", "transpose_b=1", 1e-5 } },
  { "conv", { "f32[B,14,14,16] f32[3,3,16,32] f32[32]", "pads=1,1,1,1 activation=relu", 1e-5 } },
  { "conv_grad_input", { "f32[B,14,14,32] f32[3,3,16,32] f32[B,14,14,16]", "pads=1,1,1,1", 1e-5 } },
  { "conv_grad_kernel", { "f32[B,14,14,16] f32[B,14,14,32]", "pads=1,1,1,1 kernel_size=3,3", 1e-5 } },
  { "max_pool", { "f32[B,16,16,32]", NULL, 1e-6 } },
  { "max_pool", { "f32[B,17,17,32]", "pool=3,3 strides=2,2 pads=1,1,1,1", 1e-6 } },
  { "max_pool_grad", { "f32[B,8,8,32] u8<4[B,8,8,32] f32[B,16,16,32]", NULL, 1e-6 } },
  { "conv", { "f32[B,10,10,16] f32[3,3,4,32] f32[32]", "pads=1,1,1,1 groups=4", 1e-5 } },
  { "conv", { "f32[B,14,14,32] f32[3,3,1,32] f32[32]", "pads=1,1,1,1 groups=32", 1e-5 } },
  { "conv", { "f32[B,14,14,16] f32[3,3,1,48] f32[48]", "pads=1,1,1,1 groups=16 activation=relu", 1e-5 } },
  { "conv_grad_input", { "f32[B,14,14,48] f32[3,3,1,48] f32[B,14,14,16]", "pads=1,1,1,1 groups=16", 1e-5 } },
  { "conv_grad_kernel", { "f32[B,14,14,16] f32[B,14,14,48]", "pads=1,1,1,1 groups=16 kernel_size=3,3", 1e-5 } },
  { "conv", { "f32[B,200,16] f32[5,16,32]", "pads=4,0", 1e-5 } },
  { "conv", { "f32[B,6,8,8,8] f32[3,3,3,8,16]", "pads=1,1,1,1,1,1", 1e-5 } },
  { "conv_grad_kernel", { "f32[B,14,14,32] f32[B,14,14,32]", "pads=1,1,1,1 groups=32 kernel_size=3,3", 1e-5 } },
  { "conv_transpose", { "f32[B,7,7,32] f32[3,3,16,32]", "strides=2,2 pads=0,1,0,1 output_size=14,14", 1e-5 } },
  { "max_pool", { "f32[B,6,8,8,16]", NULL, 1e-6 } },
  { "average_pool", { "f32[B,17,17,32]", "pool=3,3 strides=2,2 pads=1,1,1,1", 1e-6 } },
  { "average_pool_grad", { "f32[B,9,9,32] f32[B,17,17,32]", "pool=3,3 strides=2,2 pads=1,1,1,1", 1e-6 } },
  { "resize_bilinear", { "f32[B,9,9,16]", "size=18,18", 1e-6 } },
  { "resize_bilinear_grad", { "f32[B,18,18,16] f32[B,9,9,16]", NULL, 1e-6 } },
  { "resize_nearest", { "f32[B,9,9,16]", "size=18,18", 1e-6 } },
  { "pad", { "f32[B,20,20,8]", "before=0,1,1,0 after=0,2,2,0", 1e-6 } },
  { "strided_slice_grad", { "f32[B,10,20,8] f32[B,20,20,8]", "step=1,2,1,1", 1e-6 } },
  { "relu", { "f32[B,5000]", NULL, 1e-6 } },
  { "gelu_grad", { "f32[B,5000] f32[B,5000]", NULL, 1e-5 } },
  { "add", { "f32[B,500,20] f32[1,500,1]", NULL, 1e-6 } },
  { "add_n", { "f32[B,5000] f32[B,5000] f32[B,5000]", NULL, 1e-6 } },
  { "bias_add", { "f32[B,30,30,16] f32[16]", NULL, 1e-6 } },
  { "affine", { "u8<256[B,5000]", "scale=0.0039", 1e-6 } },
  { "cast", { "f32[B,5000]", "dtype=int32", 1e-6 } },
  { "reduce_sum", { "f32+[B,60,60,16]", "axes=0,1,2", 1e-6 } },
  { "reduce_mean", { "f32+[B,60,100]", NULL, 1e-6 } },
  { "reduce_mean", { "f32+[B,60,60,16]", "axes=1,2", 1e-6 } },
  { "reduce_max", { "f32[B,60,60,16]", "axes=0,3", 1e-6 } },
  { "sum_to_like", { "f32+[B,60,100] f32[1,60,1]", NULL, 1e-5 } },
  { "sum_squares", { "f32[700,300]", NULL, 1e-6 } },
  { "broadcast_like", { "f32[B,32] f32[B,30,30,32]", "axes=1,2 scale_mean=1", 1e-6 } },
  { "transpose", { "f32[B,50,40]", "perm=0,2,1", 1e-6 } },
  { "concat", { "f32[B,3000] f32[B,2000]", NULL, 1e-6 } },
  { "slice_grad", { "f32[B,3000] f32[B,5000]", "begin=1000", 1e-6 } },
  { "softmax", { "f32*5[B,40,50]", NULL, 1e-5 } },
  { "sparse_softmax_cross_entropy", { "f32[B,100,50] i32<50[B,100]", NULL, 1e-5 } },
  { "dropout", { "f32[B,5000] f32=0.3[]", NULL, 1e-6 } },
  { "batch_norm", { "f32[B,30,30,24] f32+[24] f32[24]", NULL, 1e-5 } },
  { "batch_norm_grad", { "f32[B,30,30,24] f32[B,30,30,24] f32+[24] f32[24] f32+[24]", NULL, 1e-5 } },
  { "adam_step",
    { "f32[300,200] f32[300,200] f32+[300,200] f32[300,200] f32+[] f32=0.1[] f32=3[]", NULL, 1e-5 } },
  { "momentum_step", { "f32[300,200] f32[300,200] f32[300,200] f32+[] f32=0.1[] f32=0.9[]", NULL, 1e-5 } },
};

/* The bits of one case for several numbers of threads. */
static void
check_threads (GradusDevice *device, const GradusOp *op, const GradusOpCase *c, gint64 batch)
{
  static const guint threads[] = { 1, 2, 3, 8 };
  g_autoptr (GPtrArray) first = NULL;
  Fixture f;

  check_case (device, op, c, batch);
  fixture_init (&f, op, c, batch);
  for (guint t = 0; t < G_N_ELEMENTS (threads); t++)
    {
      g_autoptr (GPtrArray) got = NULL;
      device->funcs->set_threads (device, threads[t]);
      got = run_on_device (&f, device);
      if (first == NULL)
        first = g_steal_pointer (&got);
      for (guint k = 0; got != NULL && k < got->len; k++)
        if (!g_bytes_equal (got->pdata[k], first->pdata[k]))
          g_error ("%s: bits of value %u differ with %u threads", op->name, k, threads[t]);
    }
  fixture_clear (&f);
}

static void
test_threads (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusDevice) device = gradus_cpu_device_new (1, &error);

  g_assert_no_error (error);
  gradus_cpu_device_set_grain (device, 0);
  for (guint i = 0; i < G_N_ELEMENTS (large); i++)
    check_threads (device, gradus_op_find (large[i].op), &large[i].c, 21);
}

/* One image is cut along its first axis: windows that reach over the seams, and inputs that no window
 * reaches. */
static void
test_rows (void)
{
  static const GradusOpCase images[] = {
    { "f32[B,64,64,16] f32[3,3,16,32] f32[32]", "pads=1,1,1,1 activation=relu", 1e-5 },
    { "f32[B,67,64,16] f32[5,3,16,32]", "strides=2,1 pads=1,2,0,0", 1e-5 },
    { "f32[B,64,64,16] f32[3,3,16,32]", "dilations=4,4 pads=4,4,4,4", 1e-5 },
    { "f32[B,70,64,16] f32[2,2,16,32]", "strides=3,3", 1e-5 },
    { "f32[B,64,64,64] f32[3,3,1,64] f32[64]", "pads=1,1,1,1 groups=64", 1e-5 },
    { "f32[B,3000,32] f32[7,32,32]", "pads=6,0", 1e-5 },
    { "f32[B,64,64,32] f32[3,3,1,64]", "pads=1,1,1,1 groups=32", 1e-5 },
    { "f32[B,24,20,20,8] f32[3,3,3,8,16]", "pads=1,1,1,1,1,1", 1e-5 },
    { NULL, NULL, 0 },
  };
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusDevice) device = gradus_cpu_device_new (1, &error);

  g_assert_no_error (error);
  gradus_cpu_device_set_grain (device, 0);
  for (const GradusOpCase *c = images; c->inputs != NULL; c++)
    check_threads (device, gradus_op_find ("conv"), c, 1);
}

static void
test_describe (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusDevice) device = gradus_device_open ("cpu", 2, &error);
  g_autofree char *text = NULL;

  g_assert_no_error (error);
  text = device->funcs->describe (device);
  g_test_message ("%s", text);
  g_assert_nonnull (strstr (text, "\"onednn_isa\""));
  g_assert_nonnull (strstr (text, "\"threads\":2"));
}

static void
test_memory (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusDevice) device = gradus_cpu_device_new (1, &error);
  void *a = device->funcs->allocate (device, 1000, &error);
  void *b = device->funcs->allocate (device, 500, &error);

  g_assert_no_error (error);
  g_assert_cmpuint ((gsize) a % 64, ==, 0);
  g_assert_cmpint (device->funcs->memory (device).current, ==, 1500);
  device->funcs->deallocate (device, b, 500);
  g_assert_cmpint (device->funcs->memory (device).current, ==, 1000);
  g_assert_cmpint (device->funcs->memory (device).peak, ==, 1500);
  device->funcs->reset_peak (device);
  g_assert_cmpint (device->funcs->memory (device).peak, ==, 1000);
  device->funcs->deallocate (device, a, 1000);
  g_assert_null (device->funcs->allocate (device, G_MAXSIZE, &error));
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_NO_MEMORY);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/cpu/describe", test_describe);
  g_test_add_func ("/cpu/memory", test_memory);
  g_test_add_func ("/cpu/cases", test_cases);
  g_test_add_func ("/cpu/threads", test_threads);
  g_test_add_func ("/cpu/rows", test_rows);
  return g_test_run ();
}
