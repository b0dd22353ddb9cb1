/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/gradus-pipeline.h"
#include "source/gradus-csv.h"

#include <math.h>
#include <string.h>

#include "idx-fixture.h"

static char *folder;

static void
put (const char *name, const char *text)
{
  g_free (write_bytes (folder, name, (const guint8 *) text, strlen (text)));
}

static GradusDataset *
open_text (const char *text, GError **error)
{
  g_autofree char *quoted = g_strdelimit (g_strdup (text), "'", '"');
  g_autoptr (JsonNode) node = gradus_json_parse (quoted, -1, "r.json", error);
  g_autoptr (GradusJsonObject) data = NULL;

  g_assert_nonnull (node);
  data = gradus_json_open_at (node, "r.json", "/data", error);
  return gradus_dataset_new (data, folder, 1, error);
}

static GradusDataset *
open_fine (const char *text)
{
  g_autoptr (GError) error = NULL;
  GradusDataset *dataset = open_text (text, &error);

  g_assert_no_error (error);
  return dataset;
}

static void
refuse (const char *text, const char *says)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusDataset) dataset = open_text (text, &error);

  g_assert_null (dataset);
  g_assert_true (error->domain == GRADUS_ERROR);
  if (strstr (error->message, says) == NULL)
    g_error ("“%s” does not say “%s”", error->message, says);
}

static GradusCsv *
read_csv (const char *text, char delimiter, int header)
{
  g_autoptr (GError) error = NULL;
  g_autofree char *path = g_build_filename (folder, "x.csv", NULL);
  GradusCsv *csv = NULL;

  put ("x.csv", text);
  csv = gradus_csv_read (path, delimiter, header, &error);
  g_assert_no_error (error);
  return csv;
}

static void
test_cells (void)
{
  g_autoptr (GradusCsv) csv = read_csv ("\xef\xbb\xbf" "a;b\r\n\"1;\"\"x\"\"\";\"two\nlines\"\r\n\r\n3;\"\"", 0, -1);

  g_assert_cmpuint (csv->n_columns, ==, 2);
  g_assert_cmpint (csv->n_rows, ==, 2);
  g_assert_cmpstr (csv->names[0], ==, "a");
  g_assert_cmpstr (gradus_csv_cell (csv, 0, 0), ==, "1;\"x\"");
  g_assert_cmpstr (gradus_csv_cell (csv, 0, 1), ==, "two\nlines");
  g_assert_cmpstr (gradus_csv_cell (csv, 1, 0), ==, "3");
  g_assert_cmpstr (gradus_csv_cell (csv, 1, 1), ==, "");
  g_assert_cmpuint (csv->lines[0], ==, 2);
  g_assert_cmpuint (csv->lines[1], ==, 5);
}

static void
test_header (void)
{
  static const struct
  {
    const char *text;
    gboolean    header;
  } cases[] = { { "a,b\n1,2\n", TRUE },   { "1,2\n3,4\n", FALSE }, { "good,x\nbad,y\ngood,z\n", FALSE },
                { "mood,text\ngood,x\n", TRUE }, { "a,a\n1,2\n", FALSE }, { "a,\n1,2\n", FALSE },
                { "a\tb\n1\t2\n", TRUE }, { "a|b\n1|2\n", TRUE } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (GradusCsv) csv = read_csv (cases[i].text, 0, -1);

      g_test_message ("%s", cases[i].text);
      g_assert_cmpint (g_ascii_isdigit (csv->names[0][0]), ==, !cases[i].header);
    }
}

static void
test_numbers (void)
{
  static const char *const fine[] = { "1", " -2.5 ", "+.5", "1e3", "0" };
  static const char *const none[] = { "", "x", "1x", "0x10", "nan", "inf", "1e999", "-", "1,5", "1 2" };
  double                   number;

  for (guint i = 0; i < G_N_ELEMENTS (fine); i++)
    g_assert_true (gradus_csv_number (fine[i], &number));
  for (guint i = 0; i < G_N_ELEMENTS (none); i++)
    g_assert_false (gradus_csv_number (none[i], &number));
}

#define TRAIN "'train':{'type':'csv','file':'t.csv'"

/* Categories side by side with numbers, as training has them; gaps filled; normalised. */
static void
test_table (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusDataset) dataset = NULL;
  GradusBatchSource *train, *test;
  const GradusBatch *batch;
  const float       *x;
  guint              n;

  put ("t.csv", "size,town,w,y\n1,b,1,10\n,a,2,20\n3,b,0.5,30\n");
  put ("u.csv", "town,size,w,y\nc,2,1,5\na,4,1,6\n");
  dataset = open_fine ("{" TRAIN ",'targets':'y','weights':'w'},"
                       "'test':{'type':'csv','file':'u.csv','targets':'y','inputs':['size','town']},"
                       "'pipeline':[{'batch':3},{'fill_missing':{'value':'mean'}},{'normalize':{}}]}");
  g_assert_cmpint (gradus_dataset_inputs (dataset, &n)[0].dims[0], ==, 3);
  g_assert_cmpint (gradus_dataset_n_classes (dataset), ==, 0);
  train = gradus_dataset_open (dataset, GRADUS_PART_TRAIN, &error);
  g_assert_true (train->funcs->has_weights (train));
  batch = train->funcs->next (train, &error);
  g_assert_no_error (error);
  x = batch->inputs[0];
  /* 1, 2 (the mean), 3: mean 2, variance 2/3. */
  g_assert_cmpfloat_with_epsilon (x[0], -sqrt (1.5), 1e-5);
  g_assert_cmpfloat_with_epsilon (x[3], 0, 1e-6);
  g_assert_cmpfloat_with_epsilon (x[6], sqrt (1.5), 1e-5);
  g_assert_cmpfloat (((const float *) batch->targets[0])[1], ==, 20);
  g_assert_cmpfloat (batch->weights[2], ==, 0.5f);
  test = gradus_dataset_open (dataset, GRADUS_PART_TEST, &error);
  batch = test->funcs->next (test, &error);
  g_assert_no_error (error);
  x = batch->inputs[0];
  g_assert_cmpfloat_with_epsilon (x[0], 0, 1e-6);
  /* The town c is none of training: both columns are what 0 becomes. */
  g_assert_cmpfloat (x[1], <, 0);
  g_assert_cmpfloat (x[2], <, 0);
  g_assert_cmpfloat (x[4], >, 0);
  train->funcs->free (train);
  test->funcs->free (test);
}

static void
test_classes (void)
{
  g_autoptr (GradusDataset) words = NULL, numbers = NULL, heads = NULL;
  guint n;

  put ("t.csv", "x,kind,n,y\n1,cat,1,0.5\n2,dog,0,1.5\n3,cat,2,2\n");
  words = open_fine ("{" TRAIN ",'inputs':['x'],'targets':'kind'}}");
  g_assert_cmpint (gradus_dataset_n_classes (words), ==, 2);
  g_assert_cmpstr (gradus_dataset_class_names (words)[1], ==, "dog");
  numbers = open_fine ("{" TRAIN ",'inputs':['x'],'targets':'n'}}");
  g_assert_cmpint (gradus_dataset_n_classes (numbers), ==, 3);
  heads = open_fine ("{" TRAIN ",'inputs':{'a':['x'],'b':['kind','n']},'targets':{'k':'kind','v':['y','n']}}}");
  g_assert_cmpint (gradus_dataset_inputs (heads, &n)[1].dims[0], ==, 3);
  g_assert_cmpuint (n, ==, 2);
  g_assert_cmpstr (gradus_dataset_targets (heads, &n)[1].name, ==, "v");
  g_assert_cmpint (gradus_dataset_targets (heads, &n)[1].dims[0], ==, 2);
  g_assert_cmpuint (gradus_dataset_targets (heads, &n)[0].rank, ==, 0);
}

static void
test_refused (void)
{
  put ("t.csv", "x,y\n1,2\n3\n");
  refuse ("{" TRAIN ",'targets':'y'}}", "line 3: The row has 1 cells, but the first one has 2");
  put ("t.csv", "x,y\n1,\"2\n");
  refuse ("{" TRAIN ",'targets':'y'}}", "line 2: A quote begins here");
  put ("t.csv", "x,y\n1,\xff\n");
  refuse ("{" TRAIN ",'targets':'y'}}", "line 2: The bytes are no text in UTF-8");
  put ("t.csv", "x,y\n");
  refuse ("{" TRAIN ",'targets':'y','header':true}}", "The table has no rows");
  put ("t.csv", "");
  refuse ("{" TRAIN ",'targets':'y'}}", "The table has no rows");
  put ("t.csv", "x,price\n1,2.5\n2,\n");
  refuse ("{" TRAIN ",'targets':'prise'}}", "did you mean “price”?");
  refuse ("{" TRAIN ",'targets':'price'}}", "line 3, column “price”: The target is missing");
  refuse ("{" TRAIN ",'targets':'x','delimiter':'ab'}}", "One character");
  refuse ("{" TRAIN ",'targets':'x','weights':'price'}}", "A weight is a number");
  refuse ("{" TRAIN ",'targets':'x','inputs':[]}}", "At least one column is needed");
  refuse ("{" TRAIN ",'targets':'x'},'pipeline':[{'vectorize':{'length':3}}]}", "takes texts");
  refuse ("{'train':{'type':'csv','file':'none.csv','targets':'x'}}", "none.csv");
  put ("t.csv", "x,y\n1,a\n2,b\n");
  put ("u.csv", "x,y\n1,c\n2,b\n");
  refuse ("{" TRAIN ",'targets':'y'},'test':{'type':'csv','file':'u.csv','targets':'y'}}",
          "u.csv, line 2, column “y”: No sample for training has this class");
}

#define TEXT "'train':{'type':'text','file':'t.csv','column':'text','targets':'mood'}"

/* Keras: TextVectorization(6, output_sequence_length=4).adapt(..) gives the words '', '[UNK]', 'the', 'is', 'end', 'dog':
 * falling counts, of equal ones the later in the alphabet first. */
static void
test_text (void)
{
  static const gint32 wanted[] = { 2, 5, 3, 1, 2, 4, 0, 0, 1, 2, 1, 0 };
  const gint64        free_time[] = { -1 };
  g_autoptr (GError) error = NULL;
  g_autoptr (GradusDataset) dataset = NULL;
  GradusBatchSource *source;
  const GradusBatch *batch;

  put ("t.csv", "mood,text\ngood,The dog is big and IS\nbad,\"the  end!\"\ngood,an the ant\n");
  refuse ("{" TEXT "}", "The samples are texts. Add the stage");
  refuse ("{" TEXT ",'pipeline':[{'vectorize':{'length':4}},{'cast':'float32'}]}", "counted and not measured");
  dataset = open_fine ("{" TEXT ",'pipeline':[{'batch':2},{'vectorize':{'vocabulary':6,'length':4}}]}");
  source = gradus_dataset_open (dataset, GRADUS_PART_TRAIN, &error);
  batch = source->funcs->next (source, &error);
  g_assert_no_error (error);
  g_assert_cmpint (batch->time, ==, 0);
  g_assert_cmpmem (batch->inputs[0], 32, wanted, 32);
  source->funcs->free (source);
  /* Where the model takes any length, a batch is as long as its longest text. */
  g_assert_true (gradus_dataset_set_input_shape (dataset, 0, 1, free_time, &error));
  source = gradus_dataset_open (dataset, GRADUS_PART_TRAIN, &error);
  batch = source->funcs->next (source, &error);
  g_assert_cmpint (batch->time, ==, 4);
  batch = source->funcs->next (source, &error);
  g_assert_cmpint (batch->time, ==, 3);
  g_assert_cmpmem (batch->inputs[0], 12, wanted + 8, 12);
  source->funcs->free (source);
}

int
main (int argc, char *argv[])
{
  int status;

  g_test_init (&argc, &argv, NULL);
  folder = g_dir_make_tmp ("gradus-table-XXXXXX", NULL);
  g_test_add_func ("/table/cells", test_cells);
  g_test_add_func ("/table/header", test_header);
  g_test_add_func ("/table/numbers", test_numbers);
  g_test_add_func ("/table/table", test_table);
  g_test_add_func ("/table/classes", test_classes);
  g_test_add_func ("/table/refused", test_refused);
  g_test_add_func ("/table/text", test_text);
  status = g_test_run ();
  for (guint i = 0; i < 3; i++)
    {
      static const char *const names[] = { "x.csv", "t.csv", "u.csv" };
      g_autofree char         *path = g_build_filename (folder, names[i], NULL);

      g_unlink (path);
    }
  g_rmdir (folder);
  g_free (folder);
  return status;
}
