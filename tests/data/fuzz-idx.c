/* SPDX-License-Identifier: Apache-2.0 */
#include "source/gradus-idx.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gradus-philox.h"
#include "idx-fixture.h"

/* Fuzzing of the IDX reader, plain and packed. Built alone it replays its seeds and changes them N
 * times (first argument, 4000 without one); with -DLIBFUZZER it is a target of libFuzzer. */

int LLVMFuzzerTestOneInput (const guint8 *data, size_t size);

int
LLVMFuzzerTestOneInput (const guint8 *data, size_t size)
{
  g_autofree char *path = NULL;
  g_autoptr (GradusIdx) idx = NULL;
  g_autoptr (GError) error = NULL;
  int fd = memfd_create ("idx", MFD_CLOEXEC);

  if (fd < 0 || write (fd, data, size) != (gssize) size)
    abort ();
  path = g_strdup_printf ("/proc/self/fd/%d", fd);
  idx = gradus_idx_open (path, &error);
  if (idx == NULL)
    {
      /* Every refusal is ours and says something. */
      if (error == NULL || error->domain != GRADUS_ERROR || strlen (error->message) < 20)
        abort ();
    }
  else
    {
      gsize              row = gradus_dtype_size (idx->dtype);
      g_autofree guint8 *out = NULL;

      for (guint i = 0; i < idx->rank; i++)
        row *= idx->dims[i];
      /* What was accepted can be read, first and last and all at once. */
      out = g_malloc (row * idx->n);
      if (!gradus_idx_read (idx, 0, idx->n, out, NULL)
          || !gradus_idx_read (idx, idx->n - 1, 1, out, NULL))
        abort ();
    }
  close (fd);
  return 0;
}

#ifndef LIBFUZZER
static GPtrArray *
make_seeds (void)
{
  static const guint8 types[] = { 0x08, 0x09, 0x0b, 0x0c, 0x0d, 0x0e };
  static const guint8 sizes[] = { 1, 1, 2, 4, 4, 8 };
  GPtrArray          *seeds = g_ptr_array_new_with_free_func ((GDestroyNotify) g_byte_array_unref);

  for (guint t = 0; t < G_N_ELEMENTS (types); t++)
    for (guint axes = 1; axes <= 3; axes++)
      {
        GByteArray *seed = idx_header (types[t], axes, 5, 3, 2);
        guint       n = (axes == 1 ? 5 : axes == 2 ? 15 : 30) * sizes[t];
        guint8      body[240] = { 1, 2, 3 };

        g_byte_array_append (seed, body, n);
        g_ptr_array_add (seeds, seed);
        g_ptr_array_add (seeds, gzip_bytes (seed->data, seed->len));
      }
  return seeds;
}

static void
mutate (GByteArray *bytes, const GradusPhilox *philox)
{
  guint changes = 1 + gradus_philox_word (philox, 0) % 4;

  for (guint c = 0; c < changes && bytes->len > 0; c++)
    {
      guint32 words[4];
      guint   at;

      gradus_philox_block (philox, 1 + c, words);
      /* The header more often than the rest. */
      at = words[0] % MIN (bytes->len, words[3] % 2 ? 16 : bytes->len);
      switch (words[1] % 6)
        {
        case 0:
          bytes->data[at] ^= 1 << words[2] % 8;
          break;
        case 1:
          bytes->data[at] = words[2];
          break;
        case 2:
          bytes->data[at] = words[2] % 2 ? 0 : 0xff;
          break;
        case 3:
          g_byte_array_set_size (bytes, at);
          break;
        case 4:
          g_byte_array_remove_range (bytes, at, 1);
          break;
        default:
          g_byte_array_append (bytes, (const guint8 *) words, words[2] % 16);
        }
    }
}

int
main (int argc, char **argv)
{
  g_autoptr (GPtrArray) seeds = make_seeds ();
  guint64 rounds = argc > 1 ? g_ascii_strtoull (argv[1], NULL, 10) : 4000;

  for (guint i = 0; i < seeds->len; i++)
    {
      GByteArray *seed = g_ptr_array_index (seeds, i);

      LLVMFuzzerTestOneInput (seed->data, seed->len);
    }
  for (guint64 i = 0; i < rounds; i++)
    {
      GByteArray *seed = g_ptr_array_index (seeds, i % seeds->len);
      g_autoptr (GByteArray) bytes = g_byte_array_new ();
      GradusPhilox philox = gradus_philox (1, 0, i);

      g_byte_array_append (bytes, seed->data, seed->len);
      mutate (bytes, &philox);
      LLVMFuzzerTestOneInput (bytes->data, bytes->len);
    }
  g_print ("%u seeds and %" G_GUINT64_FORMAT " changed ones read or refused\n", seeds->len, rounds);
  return 0;
}
#endif
