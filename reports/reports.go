// Package reports shows the outcome of searches to people: the table that a search ends with, tables of
// several problems, and plots.
//
// All of it is made from best-config documents (package bestconfig). TextsOf has the sentences that tables, plots
// and the web page share. A search that found no valid variant has a document too, without a template; the table and
// the progress plot show it.
//
// Everything is written to an io.Writer; package output makes files of that.
package reports
