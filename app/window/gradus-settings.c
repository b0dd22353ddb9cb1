/* SPDX-License-Identifier: Apache-2.0 */
#define G_SETTINGS_ENABLE_BACKEND
#include "config.h"

#include <gio/gsettingsbackend.h>

#include "gradus-settings.h"

/* Where a schema stands relative to the program: build folder, then an uncommon prefix. */
static const char *const schema_folders[] = {
  "../../resources",
  "../share/glib-2.0/schemas",
};

static char *
program_folder (void)
{
  g_autofree char *program = g_file_read_link ("/proc/self/exe", NULL);

  return program != NULL ? g_path_get_dirname (program) : NULL;
}

static GSettingsSchema *
find_schema (void)
{
  g_autofree char *folder = program_folder ();
  GSettingsSchemaSource *common = g_settings_schema_source_get_default ();
  GSettingsSchema *schema = NULL;

  if (common != NULL)
    schema = g_settings_schema_source_lookup (common, GRADUS_APP_ID, TRUE);

  for (guint i = 0; schema == NULL && folder != NULL && i < G_N_ELEMENTS (schema_folders); i++)
    {
      g_autofree char *path = g_build_filename (folder, schema_folders[i], NULL);
      g_autoptr (GSettingsSchemaSource) source = NULL;

      source = g_settings_schema_source_new_from_directory (path, common, FALSE, NULL);
      if (source != NULL)
        schema = g_settings_schema_source_lookup (source, GRADUS_APP_ID, FALSE);
    }

  return schema;
}

GSettings *
gradus_settings_get (void)
{
  static GSettings *settings = NULL;

  if (settings == NULL)
    {
      g_autoptr (GSettingsSchema) schema = find_schema ();

      if (schema == NULL)
        g_error ("The settings schema %s is missing: install Gradus, or start it with ./run",
                 GRADUS_APP_ID);
      settings = g_settings_new_full (schema, NULL, NULL);
    }

  return settings;
}

char *
gradus_settings_find_resource (const char *name)
{
  g_autofree char *folder = program_folder ();
  const char *roots[] = { GRADUS_SOURCE_RESOURCES, GRADUS_DATADIR, "../share/gradus" };

  for (guint i = 0; i < G_N_ELEMENTS (roots); i++)
    {
      g_autofree char *path = NULL;

      if (g_path_is_absolute (roots[i]))
        path = g_build_filename (roots[i], name, NULL);
      else if (folder != NULL)
        path = g_build_filename (folder, roots[i], name, NULL);

      if (path != NULL && g_file_test (path, G_FILE_TEST_EXISTS))
        return g_steal_pointer (&path);
    }

  return NULL;
}
