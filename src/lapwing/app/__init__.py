"""The doors: the command line and its pictures. They translate and show; they decide nothing about privacy."""
