/* SPDX-License-Identifier: Apache-2.0 */
#include "gradus-settings.h"
#include "gradus-welcome.h"

/* Without an installed schema the one inside the program serves. */
static void
test_inner_schema (void)
{
  GSettings *settings = gradus_settings_get ();
  g_autofree char *theme = g_settings_get_string (settings, "theme");

  g_assert_cmpstr (theme, ==, "system");
  g_assert_true (settings == gradus_settings_get ());
  g_assert_true (g_settings_set_string (settings, "theme", "dark"));
}

static void
test_examples (void)
{
  g_autofree char *none = gradus_welcome_find_example ("no-such-example");

  g_assert_null (none);
  for (const GradusExample *example = gradus_welcome_get_examples (); example->name != NULL;
       example++)
    {
      g_autofree char *path = gradus_welcome_find_example (example->name);
      g_autofree char *picture =
        g_strdup_printf ("/io/github/gradus/Gradus/pictures/%s.svg", example->name);
      g_autoptr (GError) error = NULL;

      g_assert_nonnull (path);
      g_assert_true (g_resources_get_info (picture, G_RESOURCE_LOOKUP_FLAGS_NONE, NULL, NULL,
                                           &error));
      g_assert_no_error (error);
    }
}

int
main (int argc, char **argv)
{
  g_unsetenv ("GSETTINGS_SCHEMA_DIR");
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/settings/inner-schema", test_inner_schema);
  g_test_add_func ("/settings/examples", test_examples);

  return g_test_run ();
}
