"""Privacy losses in closed form, one file a family: how well one release distinguishes two neighbouring tables."""
