/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "gradus-log-locale.h"

#include <locale.h>

static locale_t
make_locale (void)
{
  return newlocale (LC_MESSAGES_MASK, "C", duplocale (LC_GLOBAL_LOCALE));
}

void
gradus_log_locale_enter (void)
{
  /* One for all threads, and for ever: a thread may outlive whoever made it. */
  static gsize made;

  if (g_once_init_enter (&made))
    g_once_init_leave (&made, (gsize) make_locale ());
  if ((locale_t) made != (locale_t) 0)
    uselocale ((locale_t) made);
}

gpointer
gradus_log_locale_pause (void)
{
  return (gpointer) uselocale (LC_GLOBAL_LOCALE);
}

void
gradus_log_locale_resume (gpointer before)
{
  uselocale ((locale_t) before);
}
