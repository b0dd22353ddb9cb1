/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gradus-error.h"
#include "gradus-philox.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* What the fuzz targets share. A target built alone replays its seeds and changes them N times
 * (first argument); with -DLIBFUZZER it is a target of libFuzzer. */

int LLVMFuzzerTestOneInput (const guint8 *data, size_t size);

/* A refusal is ours and says something. */
static inline void
fuzz_check_refusal (const GError *error)
{
  if (error == NULL || error->domain != GRADUS_ERROR || strlen (error->message) < 20
      || !g_utf8_validate (error->message, -1, NULL))
    abort ();
}

/* The path of a new file of the content in memory; close *@fd afterwards. */
static inline char *
fuzz_file (const guint8 *data, gsize size, int *fd)
{
  *fd = memfd_create ("fuzz", MFD_CLOEXEC);
  if (*fd < 0 || write (*fd, data, size) != (gssize) size)
    abort ();
  return g_strdup_printf ("/proc/self/fd/%d", *fd);
}

#ifndef LIBFUZZER
/* One change of text that tends to stay JSON: numbers, words and strings swapped for others. */
static inline void
fuzz_change_text (GString *text, const guint32 words[4])
{
  static const char        marks[] = "{}[],:\"\\'()-.e \n\xc3\xff";
  static const char *const values[] = {
    "0",    "-1",   "1",    "null", "true", "2.5", "1e308",      "1e-400", "4294967296", "[]", "{}",
    "\"\"", "[[]]", "1e99", "65536", "-0",  "3",   "2147483648", "9223372036854775807", "[null]",
  };
  const char *value = values[words[2] % G_N_ELEMENTS (values)];
  gsize       at = words[0] % text->len;
  gsize       end = at;

  switch (words[1] % 8)
    {
    case 0:
      text->str[at] = marks[words[2] % (sizeof marks - 1)];
      break;
    case 1:
      g_string_erase (text, at, MIN (1 + words[2] % 8, text->len - at));
      break;
    case 2:
      g_string_insert_c (text, at, marks[words[2] % (sizeof marks - 1)]);
      break;
    case 3:
      text->str[at] = (char) words[2];
      break;
    case 4: /* a piece of it once more, elsewhere */
      {
        gsize           from = words[3] % text->len;
        g_autofree char *piece = g_strndup (text->str + from, 1 + words[2] % 48);

        g_string_insert (text, at, piece);
        break;
      }
    default: /* the value after the next colon or comma */
      while (end < text->len && strchr (":,[(", text->str[end]) == NULL)
        end++;
      at = MIN (end + 1, text->len);
      for (end = at; end < text->len && strchr (",]})", text->str[end]) == NULL;)
        end++;
      g_string_erase (text, at, end - at);
      g_string_insert (text, at, value);
    }
}

static inline void
fuzz_change_bytes (GString *bytes, const guint32 words[4])
{
  /* The start more often than the rest. */
  gsize at = words[0] % MIN (bytes->len, words[3] % 2 ? 16 : bytes->len);

  switch (words[1] % 6)
    {
    case 0:
      bytes->str[at] ^= 1 << words[2] % 8;
      break;
    case 1:
      bytes->str[at] = (char) words[2];
      break;
    case 2:
      bytes->str[at] = words[2] % 2 ? 0 : (char) 0xff;
      break;
    case 3:
      g_string_truncate (bytes, at);
      break;
    case 4:
      g_string_erase (bytes, at, 1);
      break;
    default:
      g_string_append_len (bytes, (const char *) words, words[2] % 16);
    }
}

static inline void
fuzz_change (GString                *input,
             const GradusPhilox     *philox,
             void (*change) (GString *input, const guint32 words[4]))
{
  guint changes = 1 + gradus_philox_word (philox, 0) % 4;

  for (guint c = 0; c < changes && input->len > 0; c++)
    {
      guint32 words[4];

      gradus_philox_block (philox, 1 + c, words);
      change (input, words);
    }
}

/* @seeds: GString, (transfer full); @rounds: how many changed ones without an argument. */
static inline int
fuzz_main (int        argc,
           char     **argv,
           GPtrArray *seeds,
           guint64    rounds,
           void (*change) (GString *input, const guint32 words[4]))
{
  if (argc > 1)
    rounds = g_ascii_strtoull (argv[1], NULL, 10);
  for (guint i = 0; i < seeds->len; i++)
    {
      GString *seed = g_ptr_array_index (seeds, i);

      LLVMFuzzerTestOneInput ((const guint8 *) seed->str, seed->len);
    }
  for (guint64 i = 0; i < rounds; i++)
    {
      const GString     *seed = g_ptr_array_index (seeds, i % seeds->len);
      g_autoptr (GString) input = g_string_new_len (seed->str, seed->len);
      GradusPhilox       philox = gradus_philox (7, 0, i);

      fuzz_change (input, &philox, change);
      LLVMFuzzerTestOneInput ((const guint8 *) input->str, input->len);
    }
  g_print ("%u seeds and %" G_GUINT64_FORMAT " changed ones read or refused\n", seeds->len, rounds);
  for (guint i = 0; i < seeds->len; i++)
    g_string_free (g_ptr_array_index (seeds, i), TRUE);
  g_ptr_array_unref (seeds);
  return 0;
}
#endif
