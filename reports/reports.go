// Package reports turns the outcome of a search into things for people and for
// other programs: the best-config document, the table that a search ends with,
// and plots.
//
// BestConfig is the centre. It is plain data: the engine fills one in, WriteJSON
// and ReadBestConfig carry it to and from files, and Table, SpeedupPlot and
// SummaryPlot show it. ProgressPlot also wants the trials. A search that found
// no valid variant has a BestConfig too, without a template: it cannot be
// written as a document, but the table and the progress plot show it.
//
// Everything is written to an io.Writer; package output makes files of that.
package reports
