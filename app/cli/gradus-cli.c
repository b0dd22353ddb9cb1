/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-cli.h"

#include <glib/gi18n-lib.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

gboolean
gradus_cli_parse (int                *argc,
                  char             ***argv,
                  const GOptionEntry *entries,
                  const char         *arguments,
                  int                 n_min,
                  int                 n_max,
                  const char         *summary,
                  const char         *description)
{
  g_autoptr (GOptionContext) context = g_option_context_new (arguments);
  g_autoptr (GError) error = NULL;
  g_autofree char *program = g_strconcat ("gradus-cli ", (*argv)[0], NULL);

  g_set_prgname (program);
  g_option_context_set_translation_domain (context, GETTEXT_PACKAGE);
  g_option_context_set_summary (context, summary);
  g_option_context_set_description (context, description);
  g_option_context_add_main_entries (context, entries, GETTEXT_PACKAGE);
  if (!g_option_context_parse (context, argc, argv, &error))
    {
      gradus_cli_complain ("%s", error->message);
      return FALSE;
    }
  if (*argc > 1 && g_str_equal ((*argv)[1], "--"))
    {
      memmove (*argv + 1, *argv + 2, (*argc - 1) * sizeof **argv);
      (*argc)--;
    }
  if (*argc - 1 >= n_min && *argc - 1 <= n_max)
    return TRUE;
  if (*argc - 1 < n_min)
    gradus_cli_complain (_ ("Something is missing: %s. See “%s --help”."), arguments, program);
  else
    gradus_cli_complain (_ ("“%s” is too much. See “%s --help”."), (*argv)[n_max + 1], program);
  return FALSE;
}

/* Messages ----------------------------------------------------------------------------------- */

void
gradus_cli_complain (const char *format, ...)
{
  g_autofree char *text = NULL;
  va_list          args;

  va_start (args, format);
  text = g_strdup_vprintf (format, args);
  va_end (args);
  fflush (stdout);
  g_printerr ("gradus-cli: %s\n", text);
}

int
gradus_cli_refuse (const GError *error)
{
  gradus_cli_complain ("%s", error->message);
  return GRADUS_CLI_REFUSED;
}

int
gradus_cli_fail (const GError *error)
{
  gradus_cli_complain ("%s", error->message);
  return GRADUS_CLI_FAILED;
}

/* Text --------------------------------------------------------------------------------------- */

guint
gradus_cli_width (const char *text)
{
  guint width = 0;

  for (const char *c = text; *c != '\0'; c = g_utf8_next_char (c))
    {
      gunichar letter = g_utf8_get_char (c);

      if (!g_unichar_iszerowidth (letter))
        width += g_unichar_iswide (letter) ? 2 : 1;
    }
  return width;
}

guint
gradus_cli_terminal_width (void)
{
  struct winsize size = { 0 };

  if (!isatty (STDOUT_FILENO))
    return 0;
  return ioctl (STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void
gradus_cli_add_row (GPtrArray *rows, const char *first, ...)
{
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();
  va_list args;

  va_start (args, first);
  for (const char *cell = first; cell != NULL; cell = va_arg (args, const char *))
    g_strv_builder_add (builder, cell);
  va_end (args);
  g_ptr_array_add (rows, g_strv_builder_end (builder));
}

void
gradus_cli_table (GPtrArray *rows, const char *alignment)
{
  guint  n = strlen (alignment);
  guint *widths = g_newa0 (guint, n);

  for (guint i = 0; i < rows->len; i++)
    for (guint j = 0; j < n; j++)
      widths[j] = MAX (widths[j], gradus_cli_width (((char **)g_ptr_array_index (rows, i))[j]));
  for (guint i = 0; i < rows->len; i++)
    {
      char   **row = g_ptr_array_index (rows, i);
      GString *line = g_string_new (NULL);

      for (guint j = 0; j < n; j++)
        {
          guint blanks = widths[j] - gradus_cli_width (row[j]);

          if (j > 0)
            g_string_append (line, "  ");
          if (alignment[j] == 'r')
            g_string_append_printf (line, "%*s", (int)blanks, "");
          g_string_append (line, row[j]);
          if (alignment[j] != 'r' && j + 1 < n)
            g_string_append_printf (line, "%*s", (int)blanks, "");
        }
      g_print ("%s\n", line->str);
      g_string_free (line, TRUE);
    }
}

char *
gradus_cli_number (double value)
{
  char buffer[G_ASCII_DTOSTR_BUF_SIZE];

  if (isnan (value))
    return g_strdup ("-");
  if (fabs (value) >= 1e-3 && fabs (value) < 1e5)
    return g_strdup (g_ascii_formatd (buffer, sizeof buffer, "%.4f", value));
  return g_strdup (g_ascii_formatd (buffer, sizeof buffer, "%.4g", value));
}

char *
gradus_cli_size (gint64 bytes)
{
  return g_format_size_full (MAX (0, bytes), G_FORMAT_SIZE_IEC_UNITS);
}

char *
gradus_cli_seconds (double seconds)
{
  gint64 whole = (gint64)(seconds + 0.5);

  if (whole < 3600)
    return g_strdup_printf ("%02d:%02d", (int)(whole / 60), (int)(whole % 60));
  return g_strdup_printf ("%" G_GINT64_FORMAT ":%02d:%02d", whole / 3600, (int)(whole / 60 % 60),
                          (int)(whole % 60));
}

char *
gradus_cli_age (gint64 ms)
{
  gint64 seconds = (g_get_real_time () / 1000 - ms) / 1000;

  if (ms == 0)
    return g_strdup ("-");
  if (seconds < 60)
    return g_strdup (_ ("just now"));
  if (seconds < 3600)
    return g_strdup_printf (
        g_dngettext (GETTEXT_PACKAGE, "%d min ago", "%d min ago", (gulong)(seconds / 60)),
        (int)(seconds / 60));
  if (seconds < 86400)
    return g_strdup_printf (
        g_dngettext (GETTEXT_PACKAGE, "%d h ago", "%d h ago", (gulong)(seconds / 3600)),
        (int)(seconds / 3600));
  return g_strdup_printf (
      g_dngettext (GETTEXT_PACKAGE, "%d d ago", "%d d ago", (gulong)(seconds / 86400)),
      (int)(seconds / 86400));
}

const char *
gradus_cli_status (GradusRunStatus status)
{
  static const char *const words[] = { N_ ("queued"),     N_ ("running"), N_ ("paused"),
                                       N_ ("finished"),   N_ ("stopped"), N_ ("failed"),
                                       N_ ("interrupted") };

  return status < G_N_ELEMENTS (words) ? _ (words[status]) : "";
}

GradusWorkspace *
gradus_cli_open_workspace (const char *path, GError **error)
{
  return gradus_workspace_open (path, path == NULL ? GRADUS_WORKSPACE_CREATE : 0, error);
}
