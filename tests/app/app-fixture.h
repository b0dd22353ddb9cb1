/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <gio/gio.h>

#include "gradus-recipe.h"
#include "gradus-session.h"
#include "log/gradus-log-reader.h"

G_BEGIN_DECLS

/* An empty folder, and its end. */
char *app_fixture_folder (void);
void  app_fixture_remove (const char *folder);

/* The line y = 3x + 2 in small: 896 samples to train, 28 steps an epoch. */
GradusRecipe *app_fixture_line (const char *assignment, ...) G_GNUC_NULL_TERMINATED;

/* Reading a run; every failure ends the test. */
GradusRunInfo *app_fixture_run (const char *folder, const char *run);
GArray        *app_fixture_scalars (const char *folder, const char *run, const char *series);
guint          app_fixture_count_events (const char *folder, const char *run, const char *word);

/* All that must not differ between two runs is the same, bit by bit: every series but those about
 * time and this process. Returns how many series were compared. */
guint app_fixture_compare_runs (const char *folder_a,
                                const char *run_a,
                                const char *folder_b,
                                const char *run_b);
/* The weights of the newest checkpoints are the same bits. */
void app_fixture_compare_weights (const char *folder_a,
                                  const char *run_a,
                                  const char *folder_b,
                                  const char *run_b);

/* Runs until @condition holds, twenty seconds at most. */
#define app_fixture_wait_until(condition)                                                          \
  G_STMT_START                                                                                     \
  {                                                                                                \
    gint64 app_fixture_end = g_get_monotonic_time () + 20 * G_USEC_PER_SEC;                        \
    while (!(condition))                                                                           \
      {                                                                                            \
        g_assert_cmpint (g_get_monotonic_time (), <, app_fixture_end);                             \
        g_usleep (5000);                                                                           \
      }                                                                                            \
  }                                                                                                \
  G_STMT_END

G_END_DECLS
