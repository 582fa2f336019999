"""The doors: command line, pages, Python front. They translate and show; they decide nothing about privacy."""
