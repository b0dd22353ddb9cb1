/* SPDX-License-Identifier: Apache-2.0 */
#include "gradus-json.h"

#include <stdlib.h>
#include <string.h>

#include "gradus-philox.h"

/* Fuzzing of the JSON reader. Built alone it replays its seeds and changes them N times (first
 * argument, 20000 without one); with -DLIBFUZZER it is a target of libFuzzer. */

int LLVMFuzzerTestOneInput (const guint8 *data, size_t size);

int
LLVMFuzzerTestOneInput (const guint8 *data, size_t size)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (JsonNode) node = gradus_json_parse ((const char *) data, size, "fuzz.json", &error);
  g_autoptr (JsonNode) again = NULL;
  g_autofree char *text = NULL;

  if (node == NULL)
    {
      if (error == NULL || error->domain != GRADUS_ERROR
          || !g_utf8_validate (error->message, -1, NULL))
        abort ();
      return 0;
    }
  /* What was read can be written, and read again. */
  text = gradus_json_to_string (node, FALSE);
  again = gradus_json_parse (text, -1, NULL, &error);
  if (again == NULL || !json_node_equal (node, again))
    abort ();
  if (JSON_NODE_HOLDS_OBJECT (node))
    {
      g_autoptr (GradusJsonObject) object = gradus_json_open (node, "fuzz.json", NULL);

      gradus_json_string (object, "name", NULL);
      gradus_json_int (object, "seed", 0, 100, 0);
      gradus_json_double (object, "rate", 0, 1, 0);
      gradus_json_object_free (gradus_json_object (object, "fit"));
      gradus_json_array_free (gradus_json_array (object, "list", 3));
      gradus_json_end (object, NULL);
    }
  return 0;
}

#ifndef LIBFUZZER
static const char *const seeds[] = {
  "{\"name\": \"fashion\", \"seed\": 42, \"rate\": 0.001, \"fit\": {\"epochs\": 5}, \"list\": [1, "
  "2]}",
  "[1e-3, -0, 12345678901234567890, true, false, null, \"\\u00e9\\ud83d\\ude00\\n\\\\\\\"/\"]",
  "\xef\xbb\xbf{\"é\": {\"\": [[], {}, [{}]]}}",
  "{\"seed\": 3.0, \"nmae\": 1, \"rate\": 1e308, \"list\": {}}",
};

static void
mutate (GString *text, const GradusPhilox *philox)
{
  static const char marks[] = "{}[],:\"\\u0-.eE+ \ntfn\xc3\xff";
  guint             changes = 1 + gradus_philox_word (philox, 0) % 4;

  for (guint c = 0; c < changes && text->len > 0; c++)
    {
      guint32 words[4];
      guint   at;

      gradus_philox_block (philox, 1 + c, words);
      at = words[0] % text->len;
      switch (words[1] % 4)
        {
        case 0:
          text->str[at] = marks[words[2] % (sizeof marks - 1)];
          break;
        case 1:
          g_string_erase (text, at, MIN (1 + words[2] % 4, (guint) text->len - at));
          break;
        case 2:
          g_string_insert_c (text, at, marks[words[2] % (sizeof marks - 1)]);
          break;
        default:
          text->str[at] = (char) words[2];
        }
    }
}

int
main (int argc, char **argv)
{
  guint64 rounds = argc > 1 ? g_ascii_strtoull (argv[1], NULL, 10) : 20000;

  for (guint i = 0; i < G_N_ELEMENTS (seeds); i++)
    LLVMFuzzerTestOneInput ((const guint8 *) seeds[i], strlen (seeds[i]));
  for (guint64 i = 0; i < rounds; i++)
    {
      g_autoptr (GString) text = g_string_new (seeds[i % G_N_ELEMENTS (seeds)]);
      GradusPhilox philox = gradus_philox (2, 0, i);

      mutate (text, &philox);
      LLVMFuzzerTestOneInput ((const guint8 *) text->str, text->len);
    }
  g_print ("%u seeds and %" G_GUINT64_FORMAT " changed ones read or refused\n",
           (guint) G_N_ELEMENTS (seeds), rounds);
  return 0;
}
#endif
