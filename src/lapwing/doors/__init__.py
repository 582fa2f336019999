"""The doors: command line, server with its pages, client, pictures. They translate and show, and decide nothing."""
