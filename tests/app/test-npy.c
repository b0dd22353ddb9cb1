/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-npy.h"

#include <glib/gstdio.h>
#include <string.h>

static char *folder;

static char *
write_file (const void *data, gsize length)
{
  char *path = g_build_filename (folder, "array.npy", NULL);

  g_assert_true (g_file_set_contents (path, data, length, NULL));
  return path;
}

/* A version 1 file with the header @text and @n bytes of data. */
static char *
write_array (const char *text, gsize n)
{
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  guint8 start[10] = {
    0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, strlen (text) & 0xff, strlen (text) >> 8
  };

  g_byte_array_append (bytes, start, sizeof start);
  g_byte_array_append (bytes, (const guint8 *)text, strlen (text));
  for (gsize i = 0; i < n; i++)
    g_byte_array_append (bytes, (const guint8[]){ (guint8)i }, 1);
  return write_file (bytes->data, bytes->len);
}

static void
test_round_trip (void)
{
  static const float data[6] = { 1, 2, 3, 4, 5, 6.5f };
  g_autoptr (GError) error = NULL;
  g_autofree char *path = g_build_filename (folder, "out.npy", NULL);
  g_autofree char *text = NULL;
  g_autoptr (GradusNpy) npy = NULL;
  GradusShape shapes[] = { gradus_shape (2, G_GINT64_CONSTANT (2), G_GINT64_CONSTANT (3)),
                           gradus_shape (1, G_GINT64_CONSTANT (6)),
                           gradus_shape (1, G_GINT64_CONSTANT (0)) };

  for (guint i = 0; i < G_N_ELEMENTS (shapes); i++)
    {
      gsize length = 0;

      g_clear_pointer (&npy, gradus_npy_free);
      g_clear_pointer (&text, g_free);
      g_assert_true (gradus_npy_write (path, GRADUS_DTYPE_FLOAT32, &shapes[i], data, &error));
      g_assert_no_error (error);
      npy = gradus_npy_read (path, &error);
      g_assert_no_error (error);
      g_assert_true (gradus_shape_equal (&npy->shape, &shapes[i]));
      g_assert_cmpint (npy->dtype, ==, GRADUS_DTYPE_FLOAT32);
      g_assert_cmpmem (npy->data, npy->bytes, data, gradus_shape_count (&shapes[i]) * 4);
      g_assert_true (g_file_get_contents (path, &text, &length, NULL));
      g_assert_cmpint ((length - npy->bytes) % 64, ==, 0);
    }
}

static void
test_big_endian (void)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path =
      write_array ("{'descr': '>i4', 'fortran_order': False, 'shape': (2,), }\n", 8);
  g_autoptr (GradusNpy) npy = gradus_npy_read (path, &error);

  g_assert_no_error (error);
  g_assert_cmpint (((gint32 *)npy->data)[0], ==, 0x00010203);
  g_assert_cmpint (((gint32 *)npy->data)[1], ==, 0x04050607);
}

static void
test_accepted (void)
{
  static const char *const headers[] = {
    "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }  \n",
    "{\"shape\":(6,),\"descr\":\"<b1\",\"fortran_order\":False}",
    "{'descr': '|u1', 'fortran_order': False, 'shape': (1, 2, 3, 1)}"
  };

  for (guint i = 0; i < G_N_ELEMENTS (headers); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autofree char *path = write_array (headers[i], 6);
      g_autoptr (GradusNpy) npy = gradus_npy_read (path, &error);

      g_assert_no_error (error);
      g_assert_cmpint (npy->bytes, ==, 6);
    }
}

static void
test_malformed_header (void)
{
  static const char *const headers[] = {
    "",
    "{",
    "{}",
    "{'descr': '<f4'}",
    "{'descr': '<f4', 'fortran_order': False}",
    "{'descr': '<f4', 'fortran_order': True, 'shape': (2,)}",
    "{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}",
    "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}",
    "{'descr': '', 'fortran_order': False, 'shape': (1,)}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (2}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4)}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,2)}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'more': 1}",
    "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}",
    "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x",
    "{'descr': '<f4"
  };

  for (guint i = 0; i < G_N_ELEMENTS (headers); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autofree char *path = write_array (headers[i], 8);
      g_autoptr (GradusNpy) npy = gradus_npy_read (path, &error);

      g_test_message ("%s", headers[i]);
      g_assert_null (npy);
      g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED);
      g_assert_nonnull (strstr (error->message, path));
    }
}

static void
test_malformed_file (void)
{
  static const struct
  {
    const char *data;
    gsize       length;
  } files[] = {
    { "", 0 },
    { "\x93NUMPY", 6 },
    { "\x93NUMPY\x01\x00\x10", 9 },
    { "\x93NUMPY\x01\x00\xff\xff{}", 12 },
    { "\x93NUMPY\x09\x00\x02\x00{}", 12 },
    { "\x93NUMPY\x02\x00\xff\xff\xff\xff{}", 14 },
    { "not an array at all", 19 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autofree char *path = write_file (files[i].data, files[i].length);

      g_assert_null (gradus_npy_read (path, &error));
      g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED);
    }
}

/* Every prefix of a file, and every file with one byte changed, is read or refused. */
static void
test_damaged (void)
{
  static const float data[6] = { 0 };
  g_autofree char   *path = g_build_filename (folder, "good.npy", NULL);
  g_autofree char   *bytes = NULL;
  gsize              length = 0;
  GradusShape        shape = gradus_shape (2, G_GINT64_CONSTANT (2), G_GINT64_CONSTANT (3));

  g_assert_true (gradus_npy_write (path, GRADUS_DTYPE_FLOAT32, &shape, data, NULL));
  g_assert_true (g_file_get_contents (path, &bytes, &length, NULL));
  for (gsize i = 0; i < length; i++)
    {
      g_autofree char *cut = write_file (bytes, i);
      g_autofree char *changed = NULL;
      char             kept = bytes[i];

      g_assert_null (gradus_npy_read (cut, NULL));
      bytes[i] ^= 0x41;
      changed = write_file (bytes, length);
      gradus_npy_free (gradus_npy_read (changed, NULL));
      bytes[i] = kept;
    }
}

static void
test_missing (void)
{
  g_autoptr (GError) error = NULL;

  g_assert_null (gradus_npy_read ("/nowhere/a.npy", &error));
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_NOT_FOUND);
}

int
main (int argc, char **argv)
{
  int              result = 0;
  g_autofree char *command = NULL;

  g_test_init (&argc, &argv, NULL);
  folder = g_dir_make_tmp ("gradus-npy-XXXXXX", NULL);
  g_test_add_func ("/npy/round-trip", test_round_trip);
  g_test_add_func ("/npy/big-endian", test_big_endian);
  g_test_add_func ("/npy/accepted", test_accepted);
  g_test_add_func ("/npy/malformed-header", test_malformed_header);
  g_test_add_func ("/npy/malformed-file", test_malformed_file);
  g_test_add_func ("/npy/damaged", test_damaged);
  g_test_add_func ("/npy/missing", test_missing);
  result = g_test_run ();
  for (guint i = 0; i < 3; i++)
    {
      g_autofree char *path = g_build_filename (
          folder, (const char *const[]){ "array.npy", "out.npy", "good.npy" }[i], NULL);

      g_unlink (path);
    }
  g_rmdir (folder);
  g_free (folder);
  return result;
}
