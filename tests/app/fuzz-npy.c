/* SPDX-License-Identifier: Apache-2.0 */
#include "gradus-fuzz.h"
#include "gradus-npy.h"

/* Fuzzing of the reader of NumPy's arrays. What it takes has the bytes that its shape says. */

int
LLVMFuzzerTestOneInput (const guint8 *data, size_t size)
{
  int                  fd;
  g_autofree char     *path = fuzz_file (data, size, &fd);
  g_autoptr (GError)    error = NULL;
  g_autoptr (GradusNpy) npy = gradus_npy_read (path, &error);
  guint                sum = 0;

  close (fd);
  if (npy == NULL)
    {
      fuzz_check_refusal (error);
      return 0;
    }
  if (npy->bytes != gradus_shape_count (&npy->shape) * gradus_dtype_size (npy->dtype)
      || npy->bytes > size)
    abort ();
  for (gsize i = 0; i < npy->bytes; i++)
    sum += ((const guint8 *) npy->data)[i];
  if (sum == G_MAXUINT)
    abort ();
  return 0;
}

#ifndef LIBFUZZER
static GString *
seed (guint version, const char *header, gsize n)
{
  GString *bytes = g_string_new_len ("\x93NUMPY", 6);
  gsize    length = strlen (header);

  g_string_append_c (bytes, version);
  g_string_append_c (bytes, 0);
  for (guint i = 0; i < (version == 1 ? 2 : 4); i++)
    g_string_append_c (bytes, length >> 8 * i);
  g_string_append (bytes, header);
  while (n-- > 0)
    g_string_append_c (bytes, n);
  return bytes;
}

/* A header's text changed keeps a length that is right. */
static void
change (GString *input, const guint32 words[4])
{
  gsize start = 10;
  gsize length = input->len > 12 ? (guint8) input->str[8] : 0;
  g_autoptr (GString) text = NULL;

  if (input->len > 12 && input->str[6] > 1)
    start = 12;
  if (words[3] % 4 == 0 || length == 0 || start + length > input->len)
    {
      fuzz_change_bytes (input, words);
      return;
    }
  text = g_string_new_len (input->str + start, length);
  fuzz_change_text (text, words);
  g_string_erase (input, start, length);
  g_string_insert_len (input, start, text->str, text->len);
  input->str[8] = text->len;
}

int
main (int argc, char **argv)
{
  GPtrArray *seeds = g_ptr_array_new ();

  g_ptr_array_add (seeds, seed (1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", 24));
  g_ptr_array_add (seeds, seed (2, "{'descr': '>i8', 'fortran_order': False, 'shape': (4,), }\n", 32));
  g_ptr_array_add (seeds, seed (3, "{'descr': '|u1', 'fortran_order': False, 'shape': (), }\n", 1));
  g_ptr_array_add (seeds, seed (1, "{'descr': '|b1', 'fortran_order': True, 'shape': (0, 7), }\n", 0));
  return fuzz_main (argc, argv, seeds, 20000, change);
}
#endif
