/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <adwaita.h>

G_BEGIN_DECLS

/* The preferences: style, threads, what closing does, workspace. All of them live in GSettings. */
#define GRADUS_TYPE_PREFERENCES (gradus_preferences_get_type ())
G_DECLARE_FINAL_TYPE (GradusPreferences, gradus_preferences, GRADUS, PREFERENCES,
                      AdwPreferencesWindow)

G_END_DECLS
