/* SPDX-License-Identifier: Apache-2.0 */
#include "source/gradus-idx.h"
#include "source/gradus-source.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "idx-fixture.h"

static char *folder;

static void
assert_refused (const char *path, GradusError code, const char *words)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusIdx) idx = gradus_idx_open (path, &error);

  g_assert_null (idx);
  g_assert_error (error, GRADUS_ERROR, (int) code);
  if (strstr (error->message, words) == NULL || strstr (error->message, path) == NULL)
    g_error ("“%s” does not name %s and “%s”", error->message, path, words);
}

/* Writes @bytes (taken) plain and packed, and wants both refused. */
static void
refuse_bytes (GByteArray *bytes, const char *words, const char *packed_words)
{
  g_autofree char *plain = write_bytes (folder, "bad-idx", bytes->data, bytes->len);
  g_autoptr (GByteArray) packed = gzip_bytes (bytes->data, bytes->len);
  g_autofree char *gz = write_bytes (folder, "bad-idx.gz", packed->data, packed->len);

  assert_refused (plain, GRADUS_ERROR_REFUSED, words);
  assert_refused (gz, GRADUS_ERROR_REFUSED, packed_words != NULL ? packed_words : words);
  g_byte_array_unref (bytes);
}

static GByteArray *
with_body (GByteArray *bytes, guint n)
{
  for (guint i = 0; i < n; i++)
    {
      guint8 value = i;

      g_byte_array_append (bytes, &value, 1);
    }
  return bytes;
}

static void
test_malformed (void)
{
  GByteArray *bytes;

  refuse_bytes (with_body (g_byte_array_new (), 0), "only 0 bytes", NULL);
  refuse_bytes (with_body (g_byte_array_new (), 3), "only 3 bytes", NULL);
  refuse_bytes (with_body (idx_header (0x08, 3, 2, 2, 2), 7),
                "promises 2 × 2 × 2 samples' elements, 24 bytes, but the file ends after 23",
                "24 bytes, but unpacked it ends after 23");
  refuse_bytes (with_body (idx_header (0x08, 3, 2, 2, 2), 9),
                "24 bytes, but more follow from byte 24 on", NULL);
  refuse_bytes (with_body (idx_header (0x0d, 1, 2), 2), "16 bytes, but the file ends after 10",
                "unpacked it ends after 10");
  refuse_bytes (with_body (idx_header (0x0a, 1, 2), 2), "byte 2 is 0a", NULL);
  refuse_bytes (idx_header (0x08, 0), "byte 3 says that there are 0 axes", NULL);
  refuse_bytes (idx_header (0x08, 10, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1), "there are 10 axes", NULL);
  refuse_bytes (with_body (idx_header (0x08, 2, 0, 5), 0), "axis 0 has size 0 (byte 4)", NULL);
  refuse_bytes (with_body (idx_header (0x08, 2, 5, 0), 0), "axis 1 has size 0 (byte 8)", NULL);
  refuse_bytes (with_body (idx_header (0x0e, 3, G_MAXUINT, G_MAXUINT, G_MAXUINT), 64),
                "multiply to more bytes than any file has", NULL);
  refuse_bytes (with_body (idx_header (0x08, 2, G_MAXUINT, G_MAXUINT / 16), 64),
                "but the file ends after", "more than");
  refuse_bytes (with_body (idx_header (0x08, 2, 1000000, 1000), 64), "but the file ends after",
                "more than");
  bytes = idx_header (0x08, 3, 2, 2, 2);
  g_byte_array_set_size (bytes, 10);
  refuse_bytes (bytes, "ends at byte 10, within its header of 16", "ends within its header");
  bytes = with_body (g_byte_array_new (), 100);
  refuse_bytes (bytes, "bytes 0 and 1 are 00 01", NULL);
  bytes = g_byte_array_new ();
  g_byte_array_append (bytes, (const guint8 *) "\x93NUMPY\x01\x00v", 9);
  refuse_bytes (bytes, "starts as a NPY file does", NULL);
}

static void
test_gzip_damaged (void)
{
  g_autoptr (GByteArray) plain = with_body (idx_header (0x08, 2, 100, 100), 10000);
  g_autoptr (GByteArray) packed = gzip_bytes (plain->data, plain->len);
  g_autoptr (GByteArray) two = gzip_bytes (plain->data, 5000);
  g_autoptr (GByteArray) second = gzip_bytes (plain->data + 5000, plain->len - 5000);
  g_autoptr (GradusIdx) idx = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *path = NULL;
  guint8           first;

  /* Cut anywhere; the last eight bytes are checksum and length. */
  for (guint n = 2; n < packed->len; n += n + 20 < packed->len ? 7 : 1)
    {
      g_free (path);
      path = write_bytes (folder, "cut.gz", packed->data, n);
      assert_refused (path, GRADUS_ERROR_REFUSED, "it ends before its content does");
    }
  first = packed->data[packed->len - 8];
  packed->data[packed->len - 8] ^= 1;
  g_free (path);
  path = write_bytes (folder, "crc.gz", packed->data, packed->len);
  assert_refused (path, GRADUS_ERROR_REFUSED, "incorrect data check");
  packed->data[packed->len - 8] = first;
  g_byte_array_append (packed, (const guint8 *) "tail", 4);
  g_free (path);
  path = write_bytes (folder, "tail.gz", packed->data, packed->len);
  assert_refused (path, GRADUS_ERROR_REFUSED, "incorrect header check");

  /* Two members after one another are one content. */
  g_byte_array_append (two, second->data, second->len);
  g_free (path);
  path = write_bytes (folder, "two", two->data, two->len);
  idx = gradus_idx_open (path, &error);
  g_assert_no_error (error);
  g_assert_cmpmem (idx->data, 10000, plain->data + 12, 10000);
}

/* A few hundred bytes that unpack to gigabytes are not unpacked. */
static void
test_bomb (void)
{
  g_autoptr (GByteArray) header = idx_header (0x08, 3, 60000, 1000, 1000);
  g_autoptr (GByteArray) zeros = g_byte_array_new ();
  g_autoptr (GByteArray) packed = NULL;
  g_autofree char *path = NULL;
  gint64           start = g_get_monotonic_time ();

  g_byte_array_set_size (zeros, 16 << 20);
  memset (zeros->data, 0, zeros->len);
  g_byte_array_prepend (zeros, header->data, header->len);
  packed = gzip_bytes (zeros->data, zeros->len);
  path = write_bytes (folder, "bomb.gz", packed->data, packed->len);
  assert_refused (path, GRADUS_ERROR_REFUSED, "more than");

  /* A modest header, and more content than it promises: refused after the first byte too many. */
  zeros->data[4] = zeros->data[5] = zeros->data[6] = 0;
  zeros->data[7] = zeros->data[11] = zeros->data[15] = 1;
  memset (zeros->data + 8, 0, 3);
  memset (zeros->data + 12, 0, 3);
  g_byte_array_unref (g_steal_pointer (&packed));
  packed = gzip_bytes (zeros->data, zeros->len);
  g_free (path);
  path = write_bytes (folder, "bomb.gz", packed->data, packed->len);
  assert_refused (path, GRADUS_ERROR_REFUSED, "more follow from byte 17 on");
  g_assert_cmpint (g_get_monotonic_time () - start, <, 20 * G_USEC_PER_SEC);
}

static void
test_not_files (void)
{
  g_autofree char *none = g_build_filename (folder, "none", NULL);
  g_autofree char *pipe = g_build_filename (folder, "pipe", NULL);

  assert_refused (none, GRADUS_ERROR_NOT_FOUND, "is not there");
  assert_refused (folder, GRADUS_ERROR_REFUSED, "not a regular file");
  assert_refused ("/dev/zero", GRADUS_ERROR_REFUSED, "not a regular file");
  g_assert_cmpint (mkfifo (pipe, 0600), ==, 0);
  assert_refused (pipe, GRADUS_ERROR_REFUSED, "not a regular file");
}

#define EXPECT(type, values, n)                                                                    \
  G_STMT_START                                                                                     \
  {                                                                                                \
    type got[n];                                                                                   \
    g_assert_true (gradus_idx_read (idx, 0, n, got, NULL));                                        \
    g_assert_cmpmem (got, sizeof got, values, sizeof got);                                         \
    g_assert_true (gradus_idx_read (idx, 1, 2, got, NULL));                                        \
    g_assert_cmpmem (got, 2 * sizeof got[0], values + 1, 2 * sizeof got[0]);                       \
  }                                                                                                \
  G_STMT_END

static void
test_types (void)
{
  static const gint32 ints[] = { -128, 127, -1, 5 };
  static const gint32 shorts[] = { -32768, 32767, -1, 258 };
  static const gint32 longs[] = { G_MININT32, G_MAXINT32, -1, 16909060 };
  static const float  floats[] = { 1.5f, -2.25f, 0, 1e30f };
  static const double doubles[] = { 1.5, -2.25, 0, 1e300 };
  static const guint8 bytes[] = { 0, 255, 128, 3 };

  for (guint t = 0; t < 6; t++)
    for (guint gz = 0; gz < 2; gz++)
      {
        static const guint8 types[] = { 0x08, 0x09, 0x0b, 0x0c, 0x0d, 0x0e };
        g_autoptr (GByteArray) file = idx_header (types[t], 1, 4);
        g_autoptr (GByteArray) packed = NULL;
        g_autoptr (GradusIdx) idx = NULL;
        g_autoptr (GError) error = NULL;
        g_autofree char *path = NULL;

        for (guint i = 0; i < 4; i++)
          {
            guint16 half = GUINT16_TO_BE ((guint16) shorts[i]);
            guint8  byte = (guint8) ints[i];
            guint32 word;
            guint64 wide;

            switch (t)
              {
              case 0:
                g_byte_array_append (file, &bytes[i], 1);
                break;
              case 1:
                g_byte_array_append (file, &byte, 1);
                break;
              case 2:
                g_byte_array_append (file, (guint8 *) &half, 2);
                break;
              case 3:
                put_u32 (file, (guint32) longs[i]);
                break;
              case 4:
                memcpy (&word, &floats[i], 4);
                put_u32 (file, word);
                break;
              default:
                memcpy (&wide, &doubles[i], 8);
                wide = GUINT64_TO_BE (wide);
                g_byte_array_append (file, (guint8 *) &wide, 8);
              }
          }
        packed = gzip_bytes (file->data, file->len);
        /* The name says the contrary of what is in it. */
        path = gz ? write_bytes (folder, "t-idx", packed->data, packed->len)
                  : write_bytes (folder, "t-idx.gz", file->data, file->len);
        idx = gradus_idx_open (path, &error);
        g_assert_no_error (error);
        g_assert_cmpint (idx->n, ==, 4);
        g_assert_cmpint (idx->rank, ==, 0);
        g_assert_true ((gradus_idx_peek (idx, 0) != NULL) == (gz && t != 1 && t != 2));
        switch (t)
          {
          case 0:
            EXPECT (guint8, bytes, 4);
            break;
          case 1:
            EXPECT (gint32, ints, 4);
            break;
          case 2:
            EXPECT (gint32, shorts, 4);
            break;
          case 3:
            EXPECT (gint32, longs, 4);
            break;
          case 4:
            EXPECT (float, floats, 4);
            break;
          default:
            EXPECT (double, doubles, 4);
          }
      }
}

static GradusSource *
open_source (const char *text, GError **error)
{
  g_autoptr (JsonNode) node = gradus_json_parse (text, -1, "r.json", NULL);
  g_autoptr (GradusJsonObject) spec = gradus_json_open_at (node, "r.json", "/data/train", NULL);

  return gradus_source_open (spec, folder, 42, "train", NULL, error);
}

static void
refuse_source (const char *text, const char *words)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusSource) source = open_source (text, &error);

  g_assert_null (source);
  g_assert_nonnull (error);
  if (strstr (error->message, words) == NULL)
    g_error ("“%s” does not say “%s”", error->message, words);
}

static void
test_source (void)
{
  g_autoptr (GByteArray) images = with_body (idx_header (0x08, 3, 4, 2, 3), 24);
  g_autoptr (GByteArray) labels = idx_header (0x08, 1, 4);
  g_autoptr (GByteArray) short_labels = with_body (idx_header (0x08, 1, 3), 3);
  g_autofree char *a = write_bytes (folder, "images", images->data, images->len);
  g_autofree char *b = NULL, *c = NULL, *first = NULL, *second = NULL, *third = NULL;
  g_autoptr (GradusSource) source = NULL, same = NULL, other = NULL;
  g_autoptr (GError) error = NULL;
  gint64 samples[] = { 3, 0, 1 };
  guint8 pixels[18], got[3];
  void  *inputs[] = { pixels }, *targets[] = { got };

  g_byte_array_append (labels, (const guint8 *) "\x00\x02\x01\x02", 4);
  b = write_bytes (folder, "labels", labels->data, labels->len);
  c = write_bytes (folder, "short", short_labels->data, short_labels->len);
  source = open_source ("{\"type\":\"idx\",\"inputs\":\"images\",\"targets\":\"labels\","
                        "\"class_names\":[\"x\",\"y\",\"z\"]}",
                        &error);
  g_assert_no_error (error);
  g_assert_cmpint (source->n_samples, ==, 4);
  g_assert_cmpint (source->n_classes, ==, 3);
  g_assert_cmpstr (source->class_names[2], ==, "z");
  g_assert_cmpint (source->inputs[0].rank, ==, 2);
  g_assert_true (source->funcs->read (source, samples, 3, inputs, targets, &error));
  g_assert_cmpint (pixels[0], ==, 18);
  g_assert_cmpint (pixels[6], ==, 0);
  g_assert_cmpint (pixels[12], ==, 6);
  g_assert_cmpmem (got, 3, "\x02\x00\x02", 3);

  g_assert_true (gradus_source_check_labels (source, 3, &error));
  g_assert_false (gradus_source_check_labels (source, 2, &error));
  g_assert_nonnull (strstr (error->message, "labels, sample 1 (byte 9): the label is 2, but the "
                                            "classes are 0 to 1"));
  g_clear_error (&error);

  same = open_source ("{\"type\":\"idx\",\"inputs\":\"images\",\"targets\":\"labels\"}", NULL);
  first = gradus_source_fingerprint (source, NULL);
  second = gradus_source_fingerprint (same, NULL);
  g_assert_cmpstr (first, ==, second);
  g_assert_true (g_str_has_prefix (first, "sha256:"));
  g_assert_cmpint (strlen (first), ==, 7 + 64);
  labels->data[labels->len - 1] = 1;
  g_free (b);
  b = write_bytes (folder, "labels", labels->data, labels->len);
  other = open_source ("{\"type\":\"idx\",\"inputs\":\"images\",\"targets\":\"labels\"}", NULL);
  third = gradus_source_fingerprint (other, NULL);
  g_assert_cmpstr (first, !=, third);
}

static void
test_source_refusals (void)
{
  refuse_source ("{\"type\":\"idx\",\"inputs\":\"images\",\"targets\":\"short\"}",
                 "has 4 samples, but ");
  refuse_source ("{\"type\":\"idx\",\"inputs\":\"labels\",\"targets\":\"images\"}",
                 "holds single values, as labels are, but stands as an input");
  refuse_source ("{\"type\":\"idx\",\"inputs\":\"images\"}",
                 "/data/train in r.json: The key “targets” is missing");
  refuse_source ("{\"type\":\"idx\",\"inputs\":3,\"targets\":\"labels\"}",
                 "/data/train/inputs in r.json: A string is expected, but 3 is there");
  refuse_source ("{\"type\":\"idx\",\"inputs\":{},\"targets\":\"labels\"}", "From 1 to 16 files");
  refuse_source ("{\"type\":\"idx\",\"inputs\":{\"a\":null},\"targets\":\"labels\"}",
                 "/data/train/inputs in r.json: The key “a” is missing");
  refuse_source ("{\"type\":\"idx\",\"inputs\":\"images\",\"targets\":\"labels\","
                 "\"class_names\":[\"x\"]}",
                 "There are 1 names, but the labels have 3 classes, 0 to 2");
  refuse_source ("{\"type\":\"idx\",\"inputs\":\"images\",\"target\":\"x\",\"targets\":\"labels\"}",
                 "Unknown key “target” at /data/train in r.json");
  refuse_source ("{\"type\":\"tfrecord\",\"file\":\"x\"}", "“tfrecord” is not available in this version");
  refuse_source ("{\"type\":\"idz\"}", "One of “idx”");
  refuse_source ("{\"type\":\"generator\",\"generator\":\"moon\"}",
                 "“moons”, “circles”");
  refuse_source ("{\"type\":\"generator\",\"generator\":\"moons\",\"classes\":3}",
                 "The generator “moons” has no choice here");
  refuse_source ("{\"type\":\"generator\",\"generator\":\"shapes\",\"targets\":[\"half\",\"x\"]}",
                 "There is no target “x”");
  refuse_source ("{\"type\":\"generator\",\"generator\":\"shapes\",\"targets\":[]}",
                 "At least one target is needed");
  refuse_source ("{\"type\":\"generator\",\"generator\":\"line\",\"samples\":0}",
                 "A whole number from 1 to 1000000000 is expected, but 0 is there");
}

static void
test_named (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusSource) source =
      open_source ("{\"type\":\"idx\",\"inputs\":{\"left\":\"images\",\"right\":\"images\"},"
                   "\"targets\":\"labels\"}",
                   &error);

  g_assert_no_error (error);
  g_assert_cmpint (source->n_inputs, ==, 2);
  g_assert_cmpstr (source->inputs[1].name, ==, "right");
}

/* Labels that no class can have are told from classes only when somebody wants classes. */
static void
test_odd_labels (void)
{
  static const guint32     odd[] = { 0xffffffff, 0x7fffffff };
  static const char *const words[] = { "sample 2 (byte 16): the label is -1",
                                       "sample 2 (byte 16): the label is 2147483647" };

  for (guint k = 0; k < 2; k++)
    {
      g_autoptr (GByteArray) labels = idx_header (0x0c, 1, 4);
      g_autofree char *path = NULL;
      g_autoptr (GradusSource) source = NULL;
      g_autoptr (GError) error = NULL;

      put_u32 (labels, 1);
      put_u32 (labels, 0);
      put_u32 (labels, odd[k]);
      put_u32 (labels, 1);
      path = write_bytes (folder, "odd", labels->data, labels->len);
      source = open_source ("{\"type\":\"idx\",\"inputs\":\"images\",\"targets\":\"odd\"}", &error);
      g_assert_no_error (error);
      g_assert_cmpint (source->n_classes, ==, k == 0 ? 2 : G_GINT64_CONSTANT (2147483648));
      g_assert_false (gradus_source_check_labels (source, 10, &error));
      g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED);
      g_assert_nonnull (strstr (error->message, words[k]));
    }
}

/* Labels written as floating point numbers are held to the same; the first wrong one is named. */
static void
test_float_labels (void)
{
  static const struct
  {
    double      value;
    const char *words;
  } cases[] = {
    { NAN, "the label is nan" },  { INFINITY, "the label is inf" }, { -INFINITY, "the label is -inf" },
    { -1, "the label is -1" },    { 0.5, "the label is 0.5" },      { 3, "the label is 3" },
    { 2, NULL },
  };

  for (guint k = 0; k < 2 * G_N_ELEMENTS (cases); k++)
    {
      gboolean        wide = k >= G_N_ELEMENTS (cases);
      const char     *words = cases[k % G_N_ELEMENTS (cases)].words;
      double          values[4] = { 1, 0, cases[k % G_N_ELEMENTS (cases)].value, 1 };
      g_autoptr (GByteArray) labels = idx_header (wide ? 0x0e : 0x0d, 1, 4);
      g_autofree char *path = NULL;
      g_autoptr (GradusSource) source = NULL;
      g_autoptr (GError) error = NULL;

      for (guint i = 0; i < 4; i++)
        if (wide)
          {
            guint64 bits;

            memcpy (&bits, &values[i], sizeof bits);
            put_u32 (labels, bits >> 32);
            put_u32 (labels, (guint32) bits);
          }
        else
          {
            float   value = (float) values[i];
            guint32 bits;

            memcpy (&bits, &value, sizeof bits);
            put_u32 (labels, bits);
          }
      path = write_bytes (folder, "floats", labels->data, labels->len);
      source = open_source ("{\"type\":\"idx\",\"inputs\":\"images\","
                            "\"targets\":\"floats\"}",
                            &error);
      g_assert_no_error (error);
      g_assert_cmpint (source->n_classes, ==, 0);
      if (words == NULL)
        {
          g_assert_true (gradus_source_check_labels (source, 3, &error));
          continue;
        }
      g_assert_false (gradus_source_check_labels (source, 3, &error));
      g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED);
      g_assert_nonnull (strstr (error->message, "floats, sample 2 (byte "));
      g_assert_nonnull (strstr (error->message, words));
    }
}

static void
test_fashion (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusSource) source = NULL;
  const char *there = "/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz";

  if (!g_file_test (there, G_FILE_TEST_EXISTS))
    {
      g_test_skip ("dataset-fashion-mnist is not installed");
      return;
    }
  source =
      open_source ("{\"type\":\"idx\","
                   "\"inputs\":\"/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz\","
                   "\"targets\":\"/usr/share/datasets/fashion-mnist/train-labels-idx1-ubyte.gz\"}",
                   &error);
  g_assert_no_error (error);
  g_assert_cmpint (source->n_samples, ==, 60000);
  g_assert_cmpint (source->n_classes, ==, 10);
  g_assert_cmpint (source->inputs[0].dims[1], ==, 28);
  g_assert_cmpint (source->resident, ==, 60000 * 785);
}

int
main (int argc, char **argv)
{
  int status;

  g_test_init (&argc, &argv, NULL);
  folder = g_dir_make_tmp ("gradus-idx-XXXXXX", NULL);
  g_test_add_func ("/idx/malformed", test_malformed);
  g_test_add_func ("/idx/gzip-damaged", test_gzip_damaged);
  g_test_add_func ("/idx/bomb", test_bomb);
  g_test_add_func ("/idx/not-files", test_not_files);
  g_test_add_func ("/idx/types", test_types);
  g_test_add_func ("/idx/source", test_source);
  g_test_add_func ("/idx/source-refusals", test_source_refusals);
  g_test_add_func ("/idx/named", test_named);
  g_test_add_func ("/idx/odd-labels", test_odd_labels);
  g_test_add_func ("/idx/float-labels", test_float_labels);
  g_test_add_func ("/idx/fashion", test_fashion);
  status = g_test_run ();
  remove_folder (folder);
  g_free (folder);
  return status;
}
