/* SPDX-License-Identifier: Apache-2.0 */
#include "gradus-json.h"

#include <glib/gstdio.h>
#include <locale.h>
#include <string.h>

static void
test_values (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (JsonNode) node =
      gradus_json_parse ("\xef\xbb\xbf { \"a\": [1, -2.5, 1e3, -0, 12345678901234567890], \"s\": "
                         "\"\\u00e9\\ud83d\\ude00\\n\","
                         " \"t\": true, \"n\": null, \"e\": {}, \"x\": [] }\n",
                         -1, "t.json", &error);
  JsonObject *object;
  JsonArray  *array;

  g_assert_no_error (error);
  object = json_node_get_object (node);
  array = json_object_get_array_member (object, "a");
  g_assert_cmpint (json_array_get_length (array), ==, 5);
  g_assert_cmpint (json_array_get_int_element (array, 0), ==, 1);
  g_assert_cmpfloat (json_array_get_double_element (array, 1), ==, -2.5);
  g_assert_cmpfloat (json_array_get_double_element (array, 2), ==, 1000);
  g_assert_true (1 / json_array_get_double_element (array, 3) < 0);
  g_assert_cmpfloat (json_array_get_double_element (array, 4), ==, 12345678901234567890.0);
  g_assert_cmpstr (json_object_get_string_member (object, "s"), ==, "é😀\n");
}

static void
test_malformed (void)
{
  static const struct
  {
    const char *text, *message;
  } cases[] = {
    { "", "line 1, column 1: The text ends where a value is expected" },
    { "{", "string in double quotes" },
    { "{\"a\" 1}", "“:” is expected after the key “a”" },
    { "{\n \"a\": 1,\n}", "line 3, column 1" },
    { "[1, 2", "“,” or “]”" },
    { "[1 2]", "“,” or “]”" },
    { "[1,]", "A value is expected" },
    { "{\"a\":1 \"b\":2}", "“,” or “}”" },
    { "{\"a\":1,\"a\":2}", "stands twice" },
    { "// x\n1", "A value is expected" },
    { "{'a': 1}", "double quotes" },
    { "NaN", "A value is expected" },
    { "Infinity", "A value is expected" },
    { "-", "A value is expected" },
    { "01", "A number ends here" },
    { "1.", "after the decimal point" },
    { ".5", "A value is expected" },
    { "+1", "A value is expected" },
    { "1e", "exponent" },
    { "1e999", "too large" },
    { "0x10", "A number ends here" },
    { "\"abc", "ends within a string" },
    { "\"a\tb\"", "control character" },
    { "\"\\q\"", "escape" },
    { "\"\\u12\"", "escape" },
    { "\"\\u0000\"", "escape" },
    { "\"\\ud800\"", "escape" },
    { "\"\\ud800\\u0041\"", "escape" },
    { "\"\\udc00\"", "escape" },
    { "\"\xff\"", "not UTF-8" },
    { "1 2", "follows after the end" },
    { "tru", "A value is expected" },
    { "\"\\", "escape" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GError) error = NULL;

      g_assert_null (gradus_json_parse (cases[i].text, -1, "x.json", &error));
      g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED);
      g_assert_nonnull (strstr (error->message, "x.json is not valid JSON at line "));
      if (strstr (error->message, cases[i].message) == NULL)
        g_error ("%s: %s", cases[i].text, error->message);
    }
  {
    g_autoptr (GError) error = NULL;

    g_assert_null (gradus_json_parse ("[1\0]", 4, "x.json", &error));
    g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED);
  }
}

static void
test_limits (void)
{
  g_autoptr (GString) deep = g_string_new (NULL);
  g_autoptr (GString) many = g_string_new ("[0");
  g_autoptr (GError) error = NULL;

  for (guint i = 0; i < 100000; i++)
    g_string_append (deep, i % 2 ? "[" : "{\"a\":");
  g_assert_null (gradus_json_parse (deep->str, deep->len, NULL, &error));
  g_assert_nonnull (strstr (error->message, "nested deeper than 200"));
  g_clear_error (&error);

  for (guint i = 0; i < GRADUS_JSON_MAX_VALUES; i++)
    g_string_append (many, ",0");
  g_string_append (many, "]");
  g_assert_null (gradus_json_parse (many->str, many->len, NULL, &error));
  g_assert_nonnull (strstr (error->message, "more than 2000000 values"));
}

static void
test_file (void)
{
  g_autofree char *folder = g_dir_make_tmp ("gradus-json-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "a.json", NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (JsonNode) node = NULL;

  g_assert_null (gradus_json_load_file (path, &error));
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_NOT_FOUND);
  g_clear_error (&error);
  g_assert_null (gradus_json_load_file (folder, &error));
  g_assert_error (error, GRADUS_ERROR, GRADUS_ERROR_REFUSED);
  g_clear_error (&error);

  g_assert_true (g_file_set_contents (path, "{\"a\":0.1}", -1, NULL));
  node = gradus_json_load_file (path, &error);
  g_assert_no_error (error);
  g_assert_nonnull (node);
  g_unlink (path);
  g_rmdir (folder);
}

static GradusJsonObject *
open_text (const char *text)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (JsonNode) node = gradus_json_parse (text, -1, "recipe.json", &error);
  GradusJsonObject *object;

  g_assert_no_error (error);
  object = gradus_json_open (node, "recipe.json", &error);
  g_assert_no_error (error);
  return object;
}

static void
assert_refused (GradusJsonObject *object, const char *message)
{
  g_autoptr (GError) error = NULL;

  g_assert_false (gradus_json_end (object, &error));
  g_assert_cmpstr (error->message, ==, message);
}

static void
test_getters (void)
{
  static const char *const modes[] = { "auto", "min", "max", NULL };
  g_autoptr (GradusJsonObject) object = open_text (
      "{\"s\":\"x\",\"i\":3,\"w\":4.0,\"d\":0.5,\"b\":true,\"e\":\"max\",\"o\":{\"k\":1},"
      "\"a\":[1,\"two\",{\"z\":3},[4]],\"null\":null}");
  g_autoptr (GradusJsonObject) child = NULL, element = NULL;
  g_autoptr (GradusJsonArray) array = NULL, inner = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_cmpstr (gradus_json_string (object, "s", NULL), ==, "x");
  g_assert_cmpstr (gradus_json_string (object, "none", "default"), ==, "default");
  g_assert_cmpint (gradus_json_int (object, "i", 1, 3, -1), ==, 3);
  g_assert_cmpint (gradus_json_int (object, "w", 1, 10, -1), ==, 4);
  g_assert_cmpint (gradus_json_int (object, "null", 1, 10, -1), ==, -1);
  g_assert_cmpfloat (gradus_json_double (object, "d", 0, 1, 9), ==, 0.5);
  g_assert_cmpfloat (gradus_json_double (object, "none", 0, 1, 9), ==, 9);
  g_assert_true (gradus_json_bool (object, "b", FALSE));
  g_assert_cmpint (gradus_json_enum (object, "e", modes, 0), ==, 2);
  child = gradus_json_object (object, "o");
  g_assert_cmpstr (gradus_json_pointer (child), ==, "/o");
  g_assert_cmpint (gradus_json_int (child, "k", 0, 1, 0), ==, 1);
  g_assert_true (gradus_json_end (child, NULL));
  array = gradus_json_array (object, "a", 4);
  g_assert_cmpint (gradus_json_array_length (array), ==, 4);
  g_assert_cmpint (gradus_json_array_int (array, 0, 0, 9), ==, 1);
  g_assert_cmpfloat (gradus_json_array_double (array, 0, 0, 9), ==, 1);
  g_assert_cmpstr (gradus_json_array_string (array, 1), ==, "two");
  element = gradus_json_array_object (array, 2);
  g_assert_cmpstr (gradus_json_pointer (element), ==, "/a/2");
  inner = gradus_json_array_array (array, 3, 1);
  g_assert_cmpint (gradus_json_array_int (inner, 0, 0, 9), ==, 4);
  g_assert_true (gradus_json_end (object, &error));
  g_assert_no_error (error);
}

#define REFUSED(text, ask, message)                                                                \
  G_STMT_START                                                                                     \
  {                                                                                                \
    g_autoptr (GradusJsonObject) object = open_text (text);                                        \
    ask;                                                                                           \
    assert_refused (object, message);                                                              \
  }                                                                                                \
  G_STMT_END

static void
test_refusals (void)
{
  static const char *const modes[] = { "auto", "min", NULL };

  REFUSED ("{\"learning_rat\":1}", gradus_json_double (object, "learning_rate", 0, 1, 0),
           "Unknown key “learning_rat” at the top level in recipe.json; did you mean "
           "“learning_rate”?");
  REFUSED ("{\"zebra\":1}", gradus_json_has (object, "learning_rate"),
           "Unknown key “zebra” at the top level in recipe.json; remove it.");
  REFUSED ("{\"s\":3}", gradus_json_string (object, "s", NULL),
           "/s in recipe.json: A string is expected, but 3 is there.");
  REFUSED ("{\"s\":\"3\"}", gradus_json_int (object, "s", 1, 10, 0),
           "/s in recipe.json: A whole number from 1 to 10 is expected, but the string “3” is "
           "there.");
  REFUSED ("{\"s\":0}", gradus_json_int (object, "s", 1, G_MAXINT64, 0),
           "/s in recipe.json: A whole number of at least 1 is expected, but 0 is there.");
  REFUSED ("{\"s\":1.5}", gradus_json_int (object, "s", 1, 10, 0),
           "/s in recipe.json: A whole number from 1 to 10 is expected, but 1.5 is there.");
  REFUSED ("{\"s\":-1}", gradus_json_double (object, "s", 0, G_MAXDOUBLE, 0),
           "/s in recipe.json: A number of at least 0 is expected, but -1 is there.");
  REFUSED ("{\"s\":[]}", gradus_json_double (object, "s", 0, 0.5, 0),
           "/s in recipe.json: A number from 0 to 0.5 is expected, but an array is there.");
  REFUSED ("{\"s\":1}", gradus_json_bool (object, "s", 0),
           "/s in recipe.json: true or false is expected, but 1 is there.");
  REFUSED ("{\"s\":\"mix\"}", gradus_json_enum (object, "s", modes, 0),
           "/s in recipe.json: One of “auto”, “min” is expected, but the string “mix” is there.");
  REFUSED ("{\"a/b~\":1}", gradus_json_object (object, "a/b~"),
           "/a~1b~0 in recipe.json: An object is expected, but 1 is there.");
  REFUSED ("{\"s\":{}}", gradus_json_array (object, "s", 3),
           "/s in recipe.json: An array is expected, but an object is there.");
  REFUSED ("{\"s\":[1,2]}", gradus_json_array (object, "s", 1),
           "/s in recipe.json: The array has 2 elements; at most 1 are possible here.");
  REFUSED ("{\"s\":null}", gradus_json_require (object, "s", NULL),
           "the top level in recipe.json: The key “s” is missing; add it.");
  REFUSED ("{\"resize\":1}", gradus_json_unavailable (object, "crop", "resize", NULL),
           "/resize in recipe.json: “resize” is not available in this version of Gradus; remove "
           "it.");
  REFUSED ("{\"s\":1}", gradus_json_refuse (object, "s", "A %s.", "sentence"),
           "/s in recipe.json: A sentence.");
}

/* The first error of any cursor is the one that every cursor reports. */
static void
test_first_error (void)
{
  g_autoptr (GradusJsonObject) object = open_text ("{\"o\":{\"k\":[\"x\"]},\"i\":\"no\"}");
  g_autoptr (GradusJsonObject) child = gradus_json_object (object, "o");
  g_autoptr (GradusJsonArray) array = gradus_json_array (child, "k", 9);

  g_assert_false (gradus_json_failed (object));
  gradus_json_array_int (array, 0, 0, 9);
  gradus_json_int (object, "i", 0, 1, 0);
  g_assert_true (gradus_json_failed (object));
  g_assert_null (gradus_json_object (object, "o"));
  assert_refused (object, "/o/k/0 in recipe.json: A whole number from 0 to 9 is expected, but the "
                          "string “x” is there.");
  assert_refused (child, "/o/k/0 in recipe.json: A whole number from 0 to 9 is expected, but the "
                         "string “x” is there.");
}

static void
test_nearest (void)
{
  static const char *const names[] = { "learning_rate", "momentum", "nesterov", "clip", NULL };

  g_assert_cmpstr (gradus_json_nearest ("Momentum", names), ==, "momentum");
  g_assert_cmpstr (gradus_json_nearest ("momentmu", names), ==, "momentum");
  g_assert_cmpstr (gradus_json_nearest ("lerning_rate", names), ==, "learning_rate");
  g_assert_cmpstr (gradus_json_nearest ("clpi", names), ==, "clip");
  g_assert_null (gradus_json_nearest ("batch", names));
  g_assert_null (gradus_json_nearest ("", names));
}

static void
test_locale (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (JsonNode) node = NULL;
  g_autofree char *text = NULL;

  if (setlocale (LC_ALL, "de_DE.UTF-8") == NULL && setlocale (LC_ALL, "fr_FR.UTF-8") == NULL)
    {
      g_test_skip ("no locale with a decimal comma is installed");
      return;
    }
  node = gradus_json_parse ("[0.1,1e-300]", -1, NULL, &error);
  g_assert_no_error (error);
  text = gradus_json_to_string (node, FALSE);
  setlocale (LC_ALL, "C");
  g_assert_null (strstr (text, "0,1"));
  g_assert_true (g_str_has_prefix (text, "[0.1"));
}

static void
test_exact (void)
{
  g_autoptr (JsonNode) node =
      gradus_json_parse ("[0.00392156862745098,1e300,0.1,5e-324]", -1, NULL, NULL);
  g_autofree char *text = gradus_json_to_string (node, FALSE);
  g_autoptr (JsonNode) again = gradus_json_parse (text, -1, NULL, NULL);

  g_assert_nonnull (again);
  for (guint i = 0; i < 4; i++)
    g_assert_cmpfloat (json_array_get_double_element (json_node_get_array (node), i), ==,
                       json_array_get_double_element (json_node_get_array (again), i));
}

static void
test_written (void)
{
  static const struct
  {
    const char *text, *plain;
  } cases[] = {
    { "1e-08", "1e-08" },
    { "[1e308, 3.0, 0.1, -0, 1e-7, 100]", "[1e+308,3.0,0.1,-0.0,1e-07,100]" },
    { "\"\\u001f\\u007f\\/\\n\\t\\\\\\\"\"", "\"\\u001f\x7f/\\n\\t\\\\\\\"\"" },
    { "{\"b\": [], \"a\": {}, \"c\": [null, true]}", "{\"b\":[],\"a\":{},\"c\":[null,true]}" },
  };
  g_autoptr (JsonNode) node =
      gradus_json_parse ("{\"b\":[1,{}],\"a\":{\"x\":null}}", -1, NULL, NULL);
  g_autofree char *pretty = gradus_json_to_string (node, TRUE);

  g_assert_cmpstr (pretty, ==,
                   "{\n  \"b\": [\n    1,\n    {}\n  ],\n  \"a\": {\n    \"x\": null\n  }\n}");
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (JsonNode) tree = gradus_json_parse (cases[i].text, -1, NULL, &error);
      g_autofree char *text = NULL;

      g_assert_no_error (error);
      text = gradus_json_to_string (tree, FALSE);
      g_assert_cmpstr (text, ==, cases[i].plain);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/json/values", test_values);
  g_test_add_func ("/json/malformed", test_malformed);
  g_test_add_func ("/json/limits", test_limits);
  g_test_add_func ("/json/file", test_file);
  g_test_add_func ("/json/getters", test_getters);
  g_test_add_func ("/json/refusals", test_refusals);
  g_test_add_func ("/json/first-error", test_first_error);
  g_test_add_func ("/json/nearest", test_nearest);
  g_test_add_func ("/json/locale", test_locale);
  g_test_add_func ("/json/exact", test_exact);
  g_test_add_func ("/json/written", test_written);
  return g_test_run ();
}
