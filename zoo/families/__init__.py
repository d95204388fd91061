"""One file a family; importing it registers its kinds."""
