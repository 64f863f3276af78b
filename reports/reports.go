// Package reports presents the results of searches to users: the table at the end of a search, tables of several
// problems, and plots.
//
// All reports are made from best-config documents (package bestconfig). Tables, plots and the web page share the
// sentences that TextsOf returns. The document of a search that found no valid variant has no template; only the table
// and the progress plot can show such a search.
//
// Every report is written to an io.Writer, so that package output can write it to a file.
package reports
