"""The privacy losses, one file a family: what one release can tell two neighbouring tables apart by, in closed form."""
