/* SPDX-License-Identifier: Apache-2.0 */
#include "source/gradus-csv.h"

#include "gradus-fuzz.h"
#include "idx-fixture.h"

/* Fuzzing of the reader of tables, plain and packed; see gradus-fuzz.h. */

int
LLVMFuzzerTestOneInput (const guint8 *data, size_t size)
{
  static const char delimiters[] = { 0, ',', ';' };
  int               fd;
  g_autofree char  *path = fuzz_file (data, size, &fd);

  for (guint i = 0; i < G_N_ELEMENTS (delimiters); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (GradusCsv) csv = gradus_csv_read (path, delimiters[i], (int) (size % 3) - 1, &error);
      double number;
      gsize  length = 0;

      if (csv == NULL)
        {
          fuzz_check_refusal (error);
          continue;
        }
      for (gint64 row = 0; row < csv->n_rows; row++)
        for (guint c = 0; c < csv->n_columns; c++)
          {
            const char *cell = gradus_csv_cell (csv, row, c);

            length += strlen (cell) + gradus_csv_number (cell, &number);
            if (!g_utf8_validate (cell, -1, NULL))
              abort ();
          }
      if (length > 2 * csv->bytes + csv->n_rows * csv->n_columns)
        abort ();
    }
  close (fd);
  return 0;
}

#ifndef LIBFUZZER
int
main (int argc, char **argv)
{
  static const char *const texts[] = {
    "a,b,c\n1,2,x\n3,,\"y\"\"z\"\n", "1;2\r\n3;4\r\n", "\"two\nlines\"\tb\n1\t2\n", "\xef\xbb\xbfmood|text\ngood|\xc3\xa4\n",
    "x\n1\n\n2\n",
  };
  guint64 rounds = argc > 1 ? g_ascii_strtoull (argv[1], NULL, 10) : 4000;

  for (guint64 i = 0; i < rounds; i++)
    {
      g_autoptr (GString) text = g_string_new (texts[i % G_N_ELEMENTS (texts)]);
      GradusPhilox philox = gradus_philox (1, 0, i);
      guint        changes = i < G_N_ELEMENTS (texts) ? 0 : 1 + gradus_philox_word (&philox, 0) % 4;

      for (guint c = 0; c < changes && text->len > 0; c++)
        {
          guint32 words[4];

          gradus_philox_block (&philox, 1 + c, words);
          fuzz_change_text (text, words);
        }
      LLVMFuzzerTestOneInput ((const guint8 *) text->str, text->len);
      if (i % 8 == 0)
        {
          g_autoptr (GByteArray) packed = gzip_bytes ((const guint8 *) text->str, text->len);

          packed->data[gradus_philox_word (&philox, 99) % packed->len] ^= i % 16 == 0;
          LLVMFuzzerTestOneInput (packed->data, packed->len);
        }
    }
  g_print ("%" G_GUINT64_FORMAT " tables read or refused\n", rounds);
  return 0;
}
#endif
