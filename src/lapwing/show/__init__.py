"""Drawings: SVG by hand for pages and notebooks, and matplotlib where somebody wants axes or a PNG.

A picture is made of numbers that were released before, and costs nothing.
"""
