"""Counts in a graph of people: edges, degrees, stars, triangles; an edge is protected, or all edges of a person."""
