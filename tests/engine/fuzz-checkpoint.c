/* SPDX-License-Identifier: Apache-2.0 */
#include "gradus-fuzz.h"
#include "train/gradus-evaluate.h"
#include "train/gradus-safetensors.h"

/* Fuzzing of checkpoints: what opens can be looked at and, if its model is one, predicts or is
 * refused. */

static GradusDevice *device;

static void
infer (GradusCheckpoint *checkpoint, GradusModel *model)
{
  g_autoptr (GError) error = NULL;
  float             input[64] = { 1 };
  const void       *inputs[1] = { input };
  const GradusDType dtypes[1] = { GRADUS_DTYPE_FLOAT32 };
  float            *outputs[1] = { NULL };
  GradusShape       shape;

  gradus_model_input (model, 0, &shape, NULL);
  shape = gradus_shape_bind (&shape, gradus_sizes (1, 1));
  if (gradus_model_n_inputs (model) != 1 || gradus_model_n_outputs (model) != 1
      || gradus_shape_count (&shape) > 64 || gradus_model_n_parameters (model, NULL) > 100000)
    return;
  if (!gradus_infer (checkpoint, device, inputs, dtypes, 1, 1, outputs, &error))
    fuzz_check_refusal (error);
  g_free (outputs[0]);
}

int
LLVMFuzzerTestOneInput (const guint8 *data, size_t size)
{
  int                         fd;
  g_autofree char            *path = fuzz_file (data, size, &fd);
  g_autoptr (GError)           error = NULL;
  g_autoptr (GradusCheckpoint) checkpoint = gradus_checkpoint_open (path, &error);
  g_autoptr (GradusModel)      model = NULL;
  guint                       sum = 0;

  close (fd);
  if (device == NULL)
    device = gradus_device_open ("cpu", 1, NULL);
  if (checkpoint == NULL)
    {
      fuzz_check_refusal (error);
      return 0;
    }
  for (guint i = 0; i < gradus_checkpoint_n_tensors (checkpoint); i++)
    for (gsize b = 0; b < gradus_checkpoint_tensor (checkpoint, i)->bytes; b++)
      sum += gradus_checkpoint_tensor (checkpoint, i)->data[b];
  if (sum == G_MAXUINT)
    abort ();
  gradus_checkpoint_extras (checkpoint);
  if ((model = gradus_checkpoint_model (checkpoint, &error)) == NULL)
    fuzz_check_refusal (error);
  else
    infer (checkpoint, model);
  return 0;
}

#ifndef LIBFUZZER
#define STATE                                                                                      \
  "{\"format\": 1, \"step\": 5, \"epoch\": 1, \"position\": 0, \"seed\": 3, \"model\": "              \
  "{\"class_name\": \"Sequential\", \"config\": {\"name\": \"net\", \"layers\": ["                   \
  "{\"class_name\": \"InputLayer\", \"config\": {\"batch_shape\": [null, 4], \"name\": \"x\"}},"     \
  "{\"class_name\": \"Dense\", \"config\": {\"name\": \"out\", \"units\": 2}}]}},"                   \
  " \"extras\": {\"class_names\": [\"a\", \"b\"]}}"

static GPtrArray *
make_seeds (void)
{
  GPtrArray        *seeds = g_ptr_array_new ();
  const float       values[10] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
  GradusTensorView  views[3] = {
    { .name = "out/kernel", .dtype = GRADUS_DTYPE_FLOAT32, .bytes = 32,
      .shape = { .rank = 2, .dims = { 4, 2 } } },
    { .name = "out/bias", .dtype = GRADUS_DTYPE_FLOAT32, .bytes = 8,
      .shape = { .rank = 1, .dims = { 2 } } },
  };
  const char *const metadata[] = { "format", "keras", "gradus", STATE, NULL };

  for (guint n = 0; n <= 2; n += 2)
    {
      g_autoptr (GByteArray) header = gradus_safetensors_header (views, n, metadata);
      GString *seed = g_string_new_len ((const char *) header->data, header->len);

      g_string_append_len (seed, (const char *) values, n * 20);
      g_ptr_array_add (seeds, seed);
    }
  return seeds;
}

/* Bytes anywhere, or the header's text with a length that is right again. */
static void
change (GString *input, const guint32 words[4])
{
  g_autoptr (GString) text = NULL;
  guint64 length = 0;

  memcpy (&length, input->str, MIN (8, input->len));
  length = GUINT64_FROM_LE (length);
  if (words[3] % 8 == 0 || input->len < 9 || length == 0 || length > input->len - 8)
    {
      fuzz_change_bytes (input, words);
      return;
    }
  text = g_string_new_len (input->str + 8, length);
  fuzz_change_text (text, words);
  g_string_erase (input, 8, length);
  g_string_insert_len (input, 8, text->str, text->len);
  length = GUINT64_TO_LE ((guint64) text->len);
  memcpy (input->str, &length, 8);
}

int
main (int argc, char **argv)
{
  return fuzz_main (argc, argv, make_seeds (), 4000, change);
}
#endif
