package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"autotune/internal/output"
)

// plotFlag is --plot. plotsIntoFolder is its rule, for all commands.
func plotFlag(more string) cli.Flag {
	return &cli.StringFlag{Name: "plot", Usage: "write PNG plots to `PATH`: a folder, or where there is one plot also a file, as plot.png" + more}
}

// imageEndings are those of paths that name one picture.
var imageEndings = []string{".png", ".svg", ".pdf", ".jpg", ".jpeg"}

// plotsIntoFolder tells whether a path of --plot names a folder, rather than one file. It
// does if it is a folder, ends as one, or is not there and does not end as a picture does.
// Plots in a folder have their usual names.
func plotsIntoFolder(path string) bool {
	if path == output.Standard {
		return false
	}
	if _, err := os.Lstat(path); err == nil {
		return isFolder(path)
	}
	return strings.HasSuffix(path, "/") || !slices.Contains(imageEndings, strings.ToLower(filepath.Ext(path)))
}

// plotFile is where a command's only plot goes: the path, or into the folder that
// it names, which is made.
func plotFile(path, name string) (string, error) {
	if !plotsIntoFolder(path) {
		return path, checkPicture(path)
	}
	return filepath.Join(path, name), os.MkdirAll(path, 0o755)
}

// checkPlotFolder checks where a command's plots go that draws several.
func checkPlotFolder(path string) error {
	if !plotsIntoFolder(path) {
		return errors.New("a search draws several plots; name a folder")
	}
	return errors.Join(os.MkdirAll(path, 0o755), output.CheckFolder(path))
}

// checkPicture refuses a new file that would not be what its name says.
func checkPicture(path string) error {
	_, err := os.Lstat(path)
	if ending := strings.ToLower(filepath.Ext(path)); err != nil && path != output.Standard && ending != ".png" {
		return fmt.Errorf("plots are PNG; name a file that ends in .png in place of %s, or a folder", ending)
	}
	return nil
}
