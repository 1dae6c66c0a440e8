"""cubake: GPU deep-learning images from a compatibility matrix, verified."""
