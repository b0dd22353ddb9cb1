/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <glib/gi18n.h>
#include <locale.h>
#include <string.h>

#include "gradus-catalogue.h"
#include "gradus-log-locale.h"
#include "gradus-translate.h"

static void
test_match (void)
{
  static const struct
  {
    const char *format, *message, *arguments; /* joined by | */
  } cases[] = {
    { "Step %ld of %s.", "Step 12 of fashion.", "12|fashion" },
    { "%s cannot be written: %s", "/a/b: c cannot be written: no room", "/a/b: c|no room" },
    { "%.1f %% of it", "3.5 % of it", "3.5" },
    { "a (b) [c] %d?", "a (b) [c] 7?", "7" },
    { "“%s” fehlt", "“x” fehlt", "x" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GPtrArray) arguments = gradus_catalogue_match (cases[i].format, cases[i].message);
      g_autofree char      *joined = NULL;

      g_assert_nonnull (arguments);
      g_ptr_array_add (arguments, NULL);
      joined = g_strjoinv ("|", (char **) arguments->pdata);
      g_assert_cmpstr (joined, ==, cases[i].arguments);
    }
  g_assert_null (gradus_catalogue_match ("Step %d of %s.", "Step 12 of fashion"));
  g_assert_null (gradus_catalogue_match ("Step %d", "A Step 12"));
}

static void
test_fill (void)
{
  g_autoptr (GPtrArray) arguments = g_ptr_array_new ();
  g_autofree char      *plain = NULL, *turned = NULL;

  g_ptr_array_add (arguments, (gpointer) "eins");
  g_ptr_array_add (arguments, (gpointer) "zwei");
  plain = gradus_catalogue_fill ("%s und %5.2f, 100 %%", arguments);
  turned = gradus_catalogue_fill ("%2$s vor %1$s", arguments);
  g_assert_cmpstr (plain, ==, "eins und zwei, 100 %");
  g_assert_cmpstr (turned, ==, "zwei vor eins");
}

/* No file that calls itself a catalogue does harm. */
static gboolean
is_there (void)
{
  if (!g_str_equal (g_dgettext (GETTEXT_PACKAGE, "Loss"), "Loss"))
    return TRUE;
  g_test_skip ("no catalogue was built here");
  return FALSE;
}

static void
test_damaged (void)
{
  g_autofree char  *path = g_build_filename (g_getenv ("GRADUS_LOCALEDIR"), "zh_CN", "LC_MESSAGES", GETTEXT_PACKAGE ".mo", NULL);
  g_autofree char  *bytes = NULL;
  gsize             size;
  g_autoptr (GRand) random = g_rand_new_with_seed (3);

  if (!g_file_get_contents (path, &bytes, &size, NULL))
    {
      g_test_skip ("no catalogue was built here");
      return;
    }
  for (guint i = 0; i < 300; i++)
    {
      gsize                 cut = (gsize) g_rand_int_range (random, 0, (gint32) size);
      g_autofree guint8    *copy = g_memdup2 (bytes, cut + 1);
      g_autoptr (GPtrArray) formats = NULL;

      for (guint k = 0; k < 10 && cut > 64; k++)
        copy[g_rand_int_range (random, 4, i % 2 == 0 ? 64 : (gint32) cut)] = (guint8) g_rand_int_range (random, 0, 256);
      formats = gradus_catalogue_formats (copy, cut);
      g_assert_nonnull (formats);
    }
}

static void
test_chinese (void)
{
  static const char *const pairs[][2] = {
    { "The divisor is nothing known.", "The divisor is nothing known." },
    { "An option was changed while the run was on.", NULL },
    { "The loss became infinite or no number in step 12. The weights are those before it. Lower the learning rate, clip the "
      "gradients, or check the data. The first is made by “log” of layer “odd”: element [0, 0] of its output (8, 6) is NaN. "
      "It was given input 1 from 1 to 2, x from 3 to 4. The usual reason: the divisor is zero.",
      "“log”" },
    { "Sample 17 of the training data has a value that is not finite in the input “x”.", "17" },
  };

  for (gsize i = 0; is_there () && i < G_N_ELEMENTS (pairs); i++)
    {
      const char *got = gradus_translate (pairs[i][0]);

      g_test_message ("%s", got);
      if (i == 0)
        g_assert_cmpstr (got, ==, pairs[i][1]);
      else
        g_assert_cmpstr (got, !=, pairs[i][0]);
      if (i >= 2)
        {
          g_assert_nonnull (strstr (got, pairs[i][1]));
          g_assert_null (strstr (got, "The "));
          g_assert_null (strstr (got, "data"));
          g_assert_null (strstr (got, "given"));
          g_assert_null (strstr (got, "zero"));
        }
    }
  g_assert_cmpstr (gradus_translate (NULL), ==, "");
}

static gpointer
log_thread (gpointer data)
{
  gpointer before;

  gradus_log_locale_enter ();
  g_assert_cmpstr (g_dgettext (GETTEXT_PACKAGE, "Loss"), ==, "Loss");
  g_assert_cmpstr (gradus_translate ("Loss"), !=, "Loss");
  before = gradus_log_locale_pause ();
  g_assert_cmpstr (g_dgettext (GETTEXT_PACKAGE, "Loss"), !=, "Loss");
  gradus_log_locale_resume (before);
  g_assert_cmpstr (g_dgettext (GETTEXT_PACKAGE, "Loss"), ==, "Loss");
  return NULL;
}

static void
test_threads (void)
{
  if (!is_there ())
    return;
  g_thread_join (g_thread_new ("log", log_thread, NULL));
  g_assert_cmpstr (g_dgettext (GETTEXT_PACKAGE, "Loss"), !=, "Loss");
}

int
main (int argc, char **argv)
{
  g_setenv ("LANGUAGE", "zh_CN", TRUE);
  g_setenv ("LC_ALL", "C.UTF-8", TRUE);
  setlocale (LC_ALL, "");
  bindtextdomain (GETTEXT_PACKAGE, g_getenv ("GRADUS_LOCALEDIR"));
  bind_textdomain_codeset (GETTEXT_PACKAGE, "UTF-8");
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/translate/match", test_match);
  g_test_add_func ("/translate/fill", test_fill);
  g_test_add_func ("/translate/damaged", test_damaged);
  g_test_add_func ("/translate/chinese", test_chinese);
  g_test_add_func ("/translate/threads", test_threads);
  return g_test_run ();
}
