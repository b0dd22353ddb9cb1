/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <glib/gi18n-lib.h>

#include "gradus-words.h"

#include "gradus-translate.h"

const char *
gradus_words_status (GradusRunStatus status)
{
  switch (status)
    {
    case GRADUS_RUN_QUEUED:
      return _("queued");
    case GRADUS_RUN_RUNNING:
      return _("running");
    case GRADUS_RUN_PAUSED:
      return _("paused");
    case GRADUS_RUN_FINISHED:
      return _("finished");
    case GRADUS_RUN_STOPPED:
      return _("stopped");
    case GRADUS_RUN_FAILED:
      return _("failed");
    case GRADUS_RUN_INTERRUPTED:
      return _("interrupted");
    default:
      g_return_val_if_reached ("");
    }
}

/* Days between the dates of two moments, whatever the hours. */
static int
days_between (GDateTime *then, GDateTime *now)
{
  GDate first, last;

  g_date_set_dmy (&first, g_date_time_get_day_of_month (then), g_date_time_get_month (then),
                  g_date_time_get_year (then));
  g_date_set_dmy (&last, g_date_time_get_day_of_month (now), g_date_time_get_month (now),
                  g_date_time_get_year (now));

  return g_date_days_between (&first, &last);
}

static char *
describe_day (GDateTime *then, GDateTime *now)
{
  int days = days_between (then, now);

  if (days == 1)
    return g_strdup (_("yesterday"));
  if (days < 7)
    return g_date_time_format (then, "%A");
  /* Translators: a day of this year, as g_date_time_format() takes it. */
  if (g_date_time_get_year (then) == g_date_time_get_year (now))
    return g_date_time_format (then, _("%-e %b"));

  return g_date_time_format (then, "%x");
}

char *
gradus_words_age (gint64 ms)
{
  g_autoptr (GDateTime) then = g_date_time_new_from_unix_local (ms / 1000);
  g_autoptr (GDateTime) now = g_date_time_new_now_local ();
  gint64 seconds;

  if (ms <= 0 || then == NULL)
    return g_strdup ("");

  seconds = g_date_time_difference (now, then) / G_TIME_SPAN_SECOND;
  if (seconds < 60)
    return g_strdup (_("just now"));
  if (seconds < 3600)
    return g_strdup_printf (ngettext ("%d min ago", "%d min ago", (gulong) (seconds / 60)),
                            (int) (seconds / 60));
  if (days_between (then, now) == 0 || seconds < 6 * 3600)
    return g_strdup_printf (ngettext ("%d h ago", "%d h ago", (gulong) (seconds / 3600)),
                            (int) (seconds / 3600));

  return describe_day (then, now);
}

char *
gradus_words_started (gint64 ms)
{
  g_autoptr (GDateTime) then = g_date_time_new_from_unix_local (ms / 1000);
  g_autoptr (GDateTime) now = g_date_time_new_now_local ();

  if (ms <= 0 || then == NULL)
    return g_strdup ("–");
  if (days_between (then, now) == 0)
    return g_date_time_format (then, "%H:%M");

  return describe_day (then, now);
}

const char *
gradus_words_message (const char *message)
{
  return gradus_translate (message);
}

const char *
gradus_words_metric (const char *metric)
{
  if (g_str_equal (metric, "loss"))
    return _("Loss");
  if (g_str_equal (metric, "accuracy"))
    return _("Accuracy");

  return metric;
}
