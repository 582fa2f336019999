"""Tables of pairs as graphs: edges, degrees, stars and triangles, where one edge is what is protected (a guest)."""
