"""Pictures where a person would rather look than read; one module a picture, all in the style of `canvas`."""
